package fencepost;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** JSON on one line, with maps sorted by key. */
final class Json {
    private Json() { }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> sorted = new TreeMap<>();
            map.forEach((key, item) -> sorted.put(String.valueOf(key), item));
            return sorted.entrySet().stream().map(e -> write(e.getKey()) + ": " + write(e.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Json::write).collect(Collectors.joining(", ", "[", "]"));
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString();
        }
        return '"' + escaped(String.valueOf(value)) + '"';
    }

    private static String escaped(String text) {
        StringBuilder found = new StringBuilder();
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                found.append('\\').append(c);
            } else if (c < ' ') {
                found.append(String.format("\\u%04x", (int) c));
            } else {
                found.append(c);
            }
        }
        return found.toString();
    }
}
