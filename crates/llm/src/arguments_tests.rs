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
fn optional_parameters_nobody_asked_for_are_left_out() {
    assert_eq!(names(&needed(&read_file(), "read notes.md")), ["path"]);
    assert_eq!(names(&needed(&read_file(), "read notes.md as GBK")), ["path", "encoding"]);
    assert_eq!(names(&needed(&read_file(), "the first 20 lines of notes.md")), ["path", "limit"]);
}

#[test]
fn optional_subject_of_call_is_kept() {
    let schema = json!({"type": "object", "properties": {"query": {"type": "string"}, "path": {"type": "string"},
        "depth": {"type": "integer"}}});
    assert_eq!(names(&needed(&schema, "which files are there?")), ["query"]);
    assert_eq!(names(&needed(&schema, "which files are in docs/old/ ?")), ["query", "path"]);
}

#[test]
fn required_text_may_not_be_empty_and_nothing_may_be_added() {
    let schema = needed(&read_file(), "");
    assert_eq!(schema["properties"]["path"]["minLength"], 1);
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn items_of_a_list_are_slimmed_too() {
    let schema = json!({"type": "object", "required": ["files"], "properties": {"files": {"type": "array",
        "items": {"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "offset": {"type": "integer"}}}}}});
    let slim = needed(&schema, "read a.md");
    assert_eq!(names(&slim["properties"]["files"]["items"]), ["path"]);
    assert_eq!(slim["properties"]["files"]["minItems"], 1);
}

#[test]
fn a_tool_without_parameters_gets_an_empty_object() {
    let grammar = grammar(&needed(&json!({"type": "object"}), "")).unwrap();
    assert!(grammar.contains("root ::="), "{grammar}");
}

#[test]
fn the_grammar_names_the_parameters_and_has_no_long_blanks() {
    let grammar = grammar(&needed(&read_file(), "")).unwrap();
    assert!(grammar.contains("path"), "{grammar}");
    assert!(grammar.lines().any(|l| l == "space ::= | \" \""), "{grammar}");
}

#[test]
fn a_schema_nobody_understands_becomes_any_object() {
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
fn only_a_whole_object_is_sent() {
    assert_eq!(finished("{\"a\": 1}").as_deref(), Some("{\"a\":1}"));
    assert_eq!(finished("{\"a\": "), None);
    assert_eq!(finished("[1]"), None);
}

#[test]
fn a_brace_that_slipped_into_a_string_is_taken_off() {
    assert_eq!(finished(r#"{"code":"print(2**9)}"}"#).as_deref(), Some(r#"{"code":"print(2**9)"}"#));
    assert_eq!(finished(r#"{"code":"x = {1: 2}"}"#).as_deref(), Some(r#"{"code":"x = {1: 2}"}"#));
}
