import java.io.FileInputStream;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.Properties;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * A Java agent that changes one method of one class when the class is loaded.
 *
 * <p>Its argument is a file of properties: `class`, `method` (a name; with a `*` at the end, all names that begin so),
 * `at`, `do`, `nth` (which of the places; 0 for all), `places` (their number in the methods) and `done`, a file that is
 * written once the class is changed and the JVM has verified it. The class is loaded before the program begins. A
 * change that does not fit ends the process.
 */
public final class Agent {
    private static final int DOES_NOT_FIT = 70;

    private Agent() { }

    public static void premain(String file, Instrumentation instrumentation) throws Exception {
        Properties given = read(file);
        Change change = new Change(given);
        instrumentation.addTransformer(change);
        try {
            Class.forName(given.getProperty("class"), true, ClassLoader.getSystemClassLoader());
        } catch (Throwable failure) {
            end(given, failure.toString());
        }
        String misfit = change.misfit();
        if (misfit != null) {
            end(given, misfit);
        }
        Files.writeString(Path.of(given.getProperty("done")), String.valueOf(change.places));
    }

    /** Makes the changes of these files, in no JVM's classes, and prints those that do not fit. */
    public static void main(String[] files) throws Exception {
        int misfits = 0;
        for (String file : files) {
            Properties given = read(file);
            Change change = new Change(given);
            try (InputStream in = ClassLoader.getSystemResourceAsStream(change.type + ".class")) {
                if (in != null) {
                    change.transform(null, change.type, null, null, in.readAllBytes());
                }
            }
            String misfit = change.misfit();
            if (misfit != null) {
                misfits++;
                System.out.println(text(given, misfit));
            }
        }
        System.exit(misfits == 0 ? 0 : DOES_NOT_FIT);
    }

    private static Properties read(String file) throws Exception {
        Properties given = new Properties();
        try (InputStream in = new FileInputStream(file)) {
            given.load(in);
        }
        return given;
    }

    private static String text(Properties given, String why) {
        return given.getProperty("class") + "." + given.getProperty("method") + ": the change at "
            + given.getProperty("at") + " does not fit: " + why.replace('\n', ' ');
    }

    private static void end(Properties given, String why) {
        System.out.println(text(given, why));
        System.out.flush();
        Runtime.getRuntime().halt(DOES_NOT_FIT);
    }

    private static final class Change implements ClassFileTransformer {
        private final String type;
        private final String method;
        private final String[] at;
        private final String[] instead;
        private final int nth;
        private final int expected;
        private volatile int places;
        private volatile Throwable failure;

        Change(Properties given) {
            type = given.getProperty("class").replace('.', '/');
            method = given.getProperty("method");
            at = given.getProperty("at").split(" ");
            instead = given.getProperty("do").split(" ");
            nth = Integer.parseInt(given.getProperty("nth", "1"));
            expected = Integer.parseInt(given.getProperty("places", "1"));
        }

        /** Returns why the change does not fit; null if it was made. */
        String misfit() {
            if (failure != null) {
                return failure.toString();
            }
            return places == expected ? null : "the class has " + places + " such places, not " + expected;
        }

        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
            if (!type.equals(name)) {
                return null;
            }
            try {
                ClassReader reader = new ClassReader(bytes);
                ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
                reader.accept(visitor(writer), 0);
                return writer.toByteArray();
            } catch (Throwable thrown) {
                failure = thrown;
                return null;
            }
        }

        private ClassVisitor visitor(ClassVisitor next) {
            return new ClassVisitor(Opcodes.ASM9, next) {
                @Override
                public MethodVisitor visitMethod(int access, String name, String of, String generic, String[] thrown) {
                    MethodVisitor found = super.visitMethod(access, name, of, generic, thrown);
                    boolean bridge = (access & (Opcodes.ACC_BRIDGE | Opcodes.ACC_ABSTRACT)) != 0;
                    if (bridge || !isMeant(name)) {
                        return found;
                    }
                    return at[0].equals("body") ? body(found, of) : new Places(found, at, instead, Change.this::isTurn);
                }
            };
        }

        private boolean isMeant(String name) {
            return method.endsWith("*") ? name.startsWith(method.substring(0, method.length() - 1)) : name.equals(method);
        }

        /** Counts a place, and returns whether it is changed. */
        private boolean isTurn() {
            places++;
            return nth == 0 || places == nth;
        }

        /** Puts a `return` in the place of the whole body. */
        private MethodVisitor body(MethodVisitor next, String of) {
            isTurn();
            return new MethodVisitor(Opcodes.ASM9) {
                @Override
                public void visitCode() {
                    next.visitCode();
                    if (instead[0].equals("call")) {
                        Places.call(next, type, instead[1]);
                    } else {
                        Places.leave(next, of, instead.length > 1 ? instead[1] : "");
                    }
                    next.visitMaxs(0, 0);
                    next.visitEnd();
                }
            };
        }
    }
}
