use super::*;

fn read_file() -> Value {
    json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string", "description": "File to read"},
        "offset": {"type": "integer"}, "limit": {"type": "integer"},
        "encoding": {"type": "string", "enum": ["utf-8", "gbk"]}}})
}

fn names(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn unrequested_optional_parameters_are_omitted() {
    assert_eq!(names(&reduce_schema(&read_file(), "read notes.md")), ["path"]);
    assert_eq!(names(&reduce_schema(&read_file(), "read notes.md as GBK")), ["path", "encoding"]);
    assert_eq!(names(&reduce_schema(&read_file(), "the first 20 lines of notes.md")), ["path", "limit"]);
}

#[test]
fn optional_subject_of_call_is_kept() {
    let schema = json!({"type": "object", "properties": {"query": {"type": "string"}, "path": {"type": "string"},
        "depth": {"type": "integer"}}});
    assert_eq!(names(&reduce_schema(&schema, "which files are there?")), ["query"]);
    assert_eq!(names(&reduce_schema(&schema, "which files are in docs/old/ ?")), ["query", "path"]);
}

#[test]
fn required_text_is_non_empty_and_extra_fields_are_refused() {
    let schema = reduce_schema(&read_file(), "");
    assert_eq!(schema["properties"]["path"]["minLength"], 1);
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn list_item_schemas_are_reduced() {
    let schema = json!({"type": "object", "required": ["files"], "properties": {"files": {"type": "array",
        "items": {"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "offset": {"type": "integer"}}}}}});
    let slim = reduce_schema(&schema, "read a.md");
    assert_eq!(names(&slim["properties"]["files"]["items"]), ["path"]);
    assert_eq!(slim["properties"]["files"]["minItems"], 1);
}

#[test]
fn tool_without_parameters_gets_empty_object() {
    let grammar = grammar(&reduce_schema(&json!({"type": "object"}), "")).unwrap();
    assert!(grammar.contains("root ::="), "{grammar}");
}

#[test]
fn grammar_names_parameters_and_bounds_whitespace() {
    let grammar = grammar(&reduce_schema(&read_file(), "")).unwrap();
    assert!(grammar.contains("path"), "{grammar}");
    assert!(grammar.lines().any(|l| l == "space ::= | \" \""), "{grammar}");
}

#[test]
fn unsupported_schema_becomes_any_object() {
    let odd = json!({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}, "required": ["a"]});
    assert!(grammar(&odd).unwrap().contains("root ::="));
}

#[test]
fn nested_parameters_are_listed_for_the_model() {
    let schema = json!({"properties": {"files": {"type": "array", "description": "Files", "items": {
        "type": "object", "properties": {"path": {"type": "string"}}}}}});
    let mut out = String::new();
    list_parameters(&schema, 0, &mut out);
    assert_eq!(out, "- files (array): Files\n  - path (string)\n");
}

#[test]
fn only_complete_object_is_sent() {
    assert_eq!(finished("{\"a\": 1}").as_deref(), Some("{\"a\":1}"));
    assert_eq!(finished("{\"a\": "), None);
    assert_eq!(finished("[1]"), None);
}

#[test]
fn stray_brace_in_string_is_removed() {
    assert_eq!(finished(r#"{"code":"print(2**9)}"}"#).as_deref(), Some(r#"{"code":"print(2**9)"}"#));
    assert_eq!(finished(r#"{"code":"x = {1: 2}"}"#).as_deref(), Some(r#"{"code":"x = {1: 2}"}"#));
}
