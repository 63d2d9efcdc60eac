use proptest::prelude::*;
use serde_json::json;

use super::*;

const FILE: &str = "# head\nport: 8002   # the port\n\n# limits\nmax_iterations: 30 # many\nhost_names:\n  # at home\n  \
                    - desk.lan # mine\n  - 'other.lan'\napprovals:\n  # effects\n  effects: {write: ask, execute: ask} # x\n  \
                    tools:\n    terminal: ask  # t\n\n# models\nmodels:\n  - id: a  # first\n    api_url: 'http://h/v1'\n  \
                    # second\n  - {id: b, api_url: 'http://h/v1'}\nfallback_model: \"b\" # last\n# tail\n";

fn one(text: &str, key: &str, value: Option<Value>) -> String {
    edited(text, &[Edit::of_key(key, value)]).unwrap()
}

#[test]
fn only_the_value_changes() {
    let changed = one(FILE, "max_iterations", Some(json!(31)));
    assert_eq!(changed, FILE.replace("max_iterations: 30", "max_iterations: 31"));
    let changed = one(FILE, "approvals.effects.write", Some(json!("deny")));
    assert_eq!(changed, FILE.replace("write: ask", "write: deny"));
    let changed = one(FILE, "approvals.tools.fetch_url", Some(json!("allow")));
    assert_eq!(changed, FILE.replace("ask  # t\n", "ask  # t\n    fetch_url: allow\n"));
    let changed = one(FILE, "max_minutes", Some(json!(5)));
    assert_eq!(changed, format!("{FILE}max_minutes: 5\n"));
    let changed = one(FILE, "host_names", Some(json!(["desk.lan", "new.lan"])));
    assert_eq!(changed, FILE.replace("'other.lan'", "new.lan"));
    assert_eq!(one(FILE, "port", Some(json!(8002))), FILE, "what it says already stays as it is");
}

#[test]
fn removed_key_takes_what_is_empty_with_it() {
    let changed = one(FILE, "approvals.tools.terminal", None);
    assert_eq!(changed, FILE.replace("  tools:\n    terminal: ask  # t\n", ""));
    assert_eq!(one(FILE, "max_minutes", None), FILE);
    assert_eq!(one("a: {b: {c: 1}}\n# tail\nd: 2\n", "a.b.c", None), "# tail\nd: 2\n");
}

#[test]
fn first_value_follows_the_comments() {
    for text in ["", "# only a comment\n", "# no line break"] {
        let changed = one(text, "approvals.effects.write", Some(json!("deny")));
        let line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        assert_eq!(changed, format!("{text}{line}approvals:\n  effects:\n    write: deny\n"));
    }
}

#[test]
fn items_of_lists_are_added_changed_and_removed() {
    let item = |index| vec![Step::Key("models".to_owned()), Step::Item(index)];
    let field = |index, name: &str| [item(index), vec![Step::Key(name.to_owned())]].concat();
    let edit = |path, value| edited(FILE, &[Edit { path, value }]).unwrap();
    let added = edit(item(2), Some(json!({"id": "c", "api_url": "http://x"})));
    assert_eq!(added, FILE.replace("'http://h/v1'}\n", "'http://h/v1'}\n  - id: c\n    api_url: http://x\n"));
    let renamed = edit(field(1, "name"), Some(json!("A, }b")));
    assert_eq!(values(&renamed).unwrap()["models"][1]["name"], "A, }b");
    assert!(renamed.contains("# first") && renamed.contains("# second"));
    assert!(!edit(item(0), None).contains("id: a"));
    let first = edited("a: 1\n", &[Edit { path: item(0), value: Some(json!({"id": "c"})) }]).unwrap();
    assert_eq!(first, "a: 1\nmodels:\n- id: c\n");
}

#[test]
fn text_that_is_no_mapping_is_refused() {
    for text in ["[1, 2]\n", "port: [\n", "words\n", "a: 1\n---\nb: 2\n"] {
        assert_eq!(edited(text, &[Edit::of_key("port", Some(json!(1)))]), Err(CannotEdit), "{text}");
    }
}

/// Texts that mean something in YAML.
fn hostile() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "'", "\"", ": ", "#", " #", "- ", "{", "}", "[", "]", ",", "&a", "*a", "!x", "|", ">", "%", "@", "`", "\\",
        "${KEY}", "~", "null", "true", "0x1", "1e3", "a", "é", "企", "😀", " ", "---", "...", "<<", "\t", "\n",
        "\u{7f}", "\u{2028}",
    ]);
    prop::collection::vec(marks, 0..8).prop_map(|parts| parts.concat())
}

fn any_file() -> impl Strategy<Value = String> {
    let comment = prop::option::of("[a-z #:'\"{}-]{0,9}");
    let port = (1u16.., comment.clone()).prop_map(|(port, note)| format!("port: {port}{}", noted(note)));
    let names =
        (prop::collection::vec("[a-z]{1,4}", 1..4), comment.clone(), any::<bool>()).prop_map(|(names, note, flow)| {
            if flow {
                return format!("host_names: [{}]{}", names.join(", "), noted(note));
            }
            let items: Vec<String> = names.iter().map(|name| format!("\n  - {name}{}", noted(note.clone()))).collect();
            format!("host_names:{}", items.concat())
        });
    let approvals = (comment.clone(), any::<bool>()).prop_map(|(note, flow)| match flow {
        true => format!("approvals: {{effects: {{read: ask, write: deny}}, timeout_seconds: 9}}{}", noted(note)),
        false => format!(
            "approvals:\n    effects:{}\n        read: ask\n        write: 'deny'\n    tools: {{}}",
            noted(note)
        ),
    });
    let model = comment.clone().prop_map(|note| format!("default_model: \"a: b\"{}", noted(note)));
    let parts = (prop::option::of(port), prop::option::of(names), prop::option::of(approvals), prop::option::of(model));
    (parts, comment, any::<bool>()).prop_map(|((port, names, approvals, model), note, blank)| {
        let between = format!("\n{}{}", if blank { "\n" } else { "" }, noted(note).trim_start());
        let parts: Vec<String> = [port, names, approvals, model].into_iter().flatten().collect();
        format!("# top{between}\n{}\n# end\n", parts.join(&format!("{between}\n")))
    })
}

fn noted(note: Option<String>) -> String {
    note.map_or_else(String::new, |note| format!("  # {note}"))
}

fn comments(text: &str) -> Vec<String> {
    let file = YamlFile::from_str(text).unwrap();
    let mut comments: Vec<String> = file.comments().map(|comment| comment.text().trim_end().to_owned()).collect();
    comments.sort();
    comments
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let scalar = |key: &'static str| hostile().prop_map(move |text| Edit::of_key(key, Some(Value::from(text))));
    prop_oneof![
        (1u16..).prop_map(|port| Edit::of_key("port", Some(json!(port)))),
        prop::collection::vec(hostile(), 0..4).prop_map(|names| Edit::of_key("vision_models", Some(json!(names)))),
        scalar("default_model"),
        scalar("fallback_model"),
        scalar("approvals.effects.write"),
        scalar("approvals.tools.terminal"),
        (0.0f64..1.0).prop_map(|weight| Edit::of_key("retrieval.vector_weight", Some(json!(weight)))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_comment_and_every_other_value_stay(file in any_file(), edit in any_edit()) {
        let before = values(&file).unwrap();
        // Refusing is always safe; the unit tests show that ordinary edits are made.
        let Ok(after) = edited(&file, std::slice::from_ref(&edit)) else { return Ok(()) };
        prop_assert_eq!(comments(&file), comments(&after), "{}", after);
        let mut expected = before;
        set(&mut expected, &edit.path, edit.value.as_ref().unwrap());
        prop_assert_eq!(values(&after).unwrap(), expected);
    }

    #[test]
    fn ordinary_edits_are_made(file in any_file(), word in "[a-zA-Z0-9 :/@._-]{1,20}") {
        for key in ["default_model", "approvals.effects.write", "approvals.tools.terminal", "fallback_model"] {
            prop_assert!(edited(&file, &[Edit::of_key(key, Some(json!(word)))]).is_ok(), "{}: {}", key, file);
            prop_assert!(edited(&file, &[Edit::of_key(key, None)]).is_ok(), "{}: {}", key, file);
        }
    }
}
