import java.util.function.BooleanSupplier;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.util.Printer;

/**
 * A method in which the instructions at some places are changed. The places are:
 *
 * <p>`call NAME`, a call of a method; `get NAME` and `put NAME`, a field read or written; `jump OPCODE`, such as
 * IFNE. The changes are:
 *
 * <p>`skip V`: leave the call or the write out, and go on with V as its result (none for void); `value V`: V instead of
 * the result, or of what is written; `add N`; `not`; `last V`: V instead of the last argument; `but-last NAME`: the
 * result of this object's method NAME instead of the last argument but one; `always` and `never`: take the jump.
 */
final class Places extends MethodVisitor {
    private final String[] at;
    private final String[] instead;
    private final BooleanSupplier isTurn;

    Places(MethodVisitor next, String[] at, String[] instead, BooleanSupplier isTurn) {
        super(Opcodes.ASM9, next);
        this.at = at;
        this.instead = instead;
        this.isTurn = isTurn;
    }

    private boolean isPlace(String kind, String name) {
        return at[0].equals(kind) && at[1].equals(name) && isTurn.getAsBoolean();
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String name, String of, boolean isInterface) {
        Type result = Type.getReturnType(of);
        if (!isPlace("call", name)) {
            super.visitMethodInsn(opcode, owner, name, of, isInterface);
        } else if (instead[0].equals("skip")) {
            Type[] arguments = Type.getArgumentTypes(of);
            for (int i = arguments.length - 1; i >= 0; i--) {
                pop(arguments[i]);
            }
            if (opcode != Opcodes.INVOKESTATIC) {
                super.visitInsn(Opcodes.POP);
            }
            if (result.getSort() != Type.VOID) {
                push(mv, result, instead[1]);
            }
        } else if (instead[0].equals("last")) {
            Type[] arguments = Type.getArgumentTypes(of);
            Type last = arguments[arguments.length - 1];
            pop(last);
            push(mv, last, instead[1]);
            super.visitMethodInsn(opcode, owner, name, of, isInterface);
        } else if (instead[0].equals("but-last")) {
            Type[] arguments = Type.getArgumentTypes(of);
            super.visitInsn(Opcodes.SWAP);
            super.visitInsn(Opcodes.POP);
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitMethodInsn(Opcodes.INVOKEVIRTUAL, owner, instead[1],
                "()" + arguments[arguments.length - 2].getDescriptor(), false);
            super.visitInsn(Opcodes.SWAP);
            super.visitMethodInsn(opcode, owner, name, of, isInterface);
        } else {
            super.visitMethodInsn(opcode, owner, name, of, isInterface);
            change(result);
        }
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String of) {
        boolean writes = opcode == Opcodes.PUTFIELD || opcode == Opcodes.PUTSTATIC;
        Type type = Type.getType(of);
        if (!isPlace(writes ? "put" : "get", name)) {
            super.visitFieldInsn(opcode, owner, name, of);
        } else if (!writes) {
            super.visitFieldInsn(opcode, owner, name, of);
            change(type);
        } else if (instead[0].equals("skip")) {
            pop(type);
            if (opcode == Opcodes.PUTFIELD) {
                super.visitInsn(Opcodes.POP);
            }
        } else {
            change(type);
            super.visitFieldInsn(opcode, owner, name, of);
        }
    }

    @Override
    public void visitJumpInsn(int opcode, Label label) {
        if (!isPlace("jump", Printer.OPCODES[opcode])) {
            super.visitJumpInsn(opcode, label);
            return;
        }
        boolean compares = opcode >= Opcodes.IF_ICMPEQ && opcode <= Opcodes.IF_ACMPNE;
        switch (instead[0]) {
            case "not":
                super.visitJumpInsn(opposite(opcode), label);
                break;
            case "never":
            case "always":
                super.visitInsn(compares ? Opcodes.POP2 : Opcodes.POP);
                if (instead[0].equals("always")) {    // as a condition: the code after it stays reachable
                    super.visitInsn(Opcodes.ICONST_0);
                    super.visitJumpInsn(Opcodes.IFEQ, label);
                }
                break;
            default:
                throw new IllegalArgumentException(instead[0] + " is no change of a jump");
        }
    }

    private static int opposite(int opcode) {
        return opcode >= Opcodes.IFNULL ? opcode ^ 1 : ((opcode - Opcodes.IFEQ) ^ 1) + Opcodes.IFEQ;
    }

    /** Changes the value on top of the stack. */
    private void change(Type type) {
        switch (instead[0]) {
            case "value":
                pop(type);
                push(mv, type, instead[1]);
                break;
            case "add":
                push(mv, type, instead[1]);
                super.visitInsn(type.getOpcode(Opcodes.IADD));
                break;
            case "not":
                super.visitInsn(Opcodes.ICONST_1);
                super.visitInsn(Opcodes.IXOR);
                break;
            default:
                throw new IllegalArgumentException(instead[0] + " is no change of a value");
        }
    }

    private void pop(Type type) {
        super.visitInsn(type.getSize() == 2 ? Opcodes.POP2 : Opcodes.POP);
    }

    /** Pushes a constant: a number, true or false, or null. */
    private static void push(MethodVisitor to, Type type, String value) {
        switch (type.getSort()) {
            case Type.LONG:
                to.visitLdcInsn(Long.parseLong(value));
                break;
            case Type.INT:
                to.visitLdcInsn(Integer.parseInt(value));
                break;
            case Type.BOOLEAN:
                to.visitInsn(Boolean.parseBoolean(value) ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
                break;
            case Type.OBJECT:
            case Type.ARRAY:
                if (!value.equals("null")) {
                    throw new IllegalArgumentException(value + " is no object; valid: null");
                }
                to.visitInsn(Opcodes.ACONST_NULL);
                break;
            default:
                throw new IllegalArgumentException(type + " has no constant");
        }
    }

    /** Calls a method of this object that returns nothing, and returns. */
    static void call(MethodVisitor from, String owner, String name) {
        from.visitVarInsn(Opcodes.ALOAD, 0);
        from.visitMethodInsn(Opcodes.INVOKEVIRTUAL, owner, name, "()V", false);
        from.visitInsn(Opcodes.RETURN);
    }

    /** Returns from a method with that value. */
    static void leave(MethodVisitor from, String of, String value) {
        Type result = Type.getReturnType(of);
        if (result.getSort() != Type.VOID) {
            push(from, result, value);
        }
        from.visitInsn(result.getOpcode(Opcodes.IRETURN));
    }
}
