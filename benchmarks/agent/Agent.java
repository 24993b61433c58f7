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
        Properties given = new Properties();
        try (InputStream in = new FileInputStream(file)) {
            given.load(in);
        }
        Change change = new Change(given);
        instrumentation.addTransformer(change);
        try {
            Class.forName(given.getProperty("class"), true, ClassLoader.getSystemClassLoader());
        } catch (Throwable failure) {
            end(given, failure.toString());
        }
        int expected = Integer.parseInt(given.getProperty("places", "1"));
        if (change.failure != null || change.places != expected) {
            end(given, change.failure != null ? change.failure.toString()
                : "found " + change.places + " places, not " + expected);
        }
        Files.writeString(Path.of(given.getProperty("done")), String.valueOf(change.places));
    }

    private static void end(Properties given, String why) {
        System.out.println("the change does not fit " + given.getProperty("class") + "." + given.getProperty("method")
            + " at " + given.getProperty("at") + ": " + why.replace('\n', ' '));
        System.out.flush();
        Runtime.getRuntime().halt(DOES_NOT_FIT);
    }

    private static final class Change implements ClassFileTransformer {
        private final String type;
        private final String method;
        private final String[] at;
        private final String[] instead;
        private final int nth;
        private volatile int places;
        private volatile Throwable failure;

        Change(Properties given) {
            type = given.getProperty("class").replace('.', '/');
            method = given.getProperty("method");
            at = given.getProperty("at").split(" ");
            instead = given.getProperty("do").split(" ");
            nth = Integer.parseInt(given.getProperty("nth", "1"));
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
                    Places.leave(next, of, instead[1]);
                    next.visitMaxs(0, 0);
                    next.visitEnd();
                }
            };
        }
    }
}
