//! Checks the layers of `ARCHITECTURE.md`, and which modules may open files, start processes and so on, in the sources of
//! the server and of crates/embed. Every check is itself tested with a made-up source that must fail.

use std::path::{Path, PathBuf};

/// The modules by layer. A module uses only lower layers; modules of one layer do not use each other, except at the top.
const LAYERS: [&[&str]; 10] = [
    &["domain", "clock"],
    &["store", "provider", "retrieval", "skills", "sandbox", "tokens", "egress", "heap"],
    &["extraction", "database"],
    &["library"],
    &["tools", "prompt"],
    &["agent"],
    &["config"],
    &["cluster"],
    &["engine"],
    &["api", "cli", "server", "main", "lib"],
];
/// The source folders, each with the minimum number of files that must be found in it.
const SERVER: [(&str, usize); 1] = [("src", 60)];
const ALL: [(&str, usize); 2] = [("src", 60), ("crates/embed/src", 10)];
const TOP: usize = LAYERS.len() - 1;

/// One source file without its comments, string literals and tests.
struct Source {
    /// Path relative to `src/`, with `/`; in another crate relative to the repository, as in `crates/embed/src/dot.rs`.
    path: String,
    code: String,
    /// The code with its literals.
    literal: String,
}

/// Whether string and character literals are replaced by spaces.
#[derive(Clone, Copy, PartialEq)]
enum Literals {
    Blank,
    Kept,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let [code, literal] = [Literals::Blank, Literals::Kept].map(|literals| blank(text, literals));
        let (code, literal) = (without_tests(&code, &code), without_tests(&code, &literal));
        Self { path: path.to_owned(), code, literal }
    }

    /// Returns the module of the layers that this file belongs to.
    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    fn is_below(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }
}

#[test]
fn module_uses_only_lower_layers() {
    assert_clean(&SERVER, layers);
}

#[test]
fn no_module_uses_super_super() {
    assert_clean(&SERVER, climbing);
}

#[test]
fn each_outside_access_has_one_module() {
    assert_clean(&ALL, doors);
}

/// Unit tests share one process. The listed one kills the process that it tests, and starts itself for that: only unit tests have
/// the model that tells it when.
#[test]
fn listed_unit_tests_start_processes() {
    let listed = ["library/pieces_tests.rs"];
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let all = sources(&top, Tests::Included);
    let starting = all.iter().filter_map(|path| {
        let name = path.strip_prefix(&top).expect("below src").to_string_lossy().replace('\\', "/");
        let code = blank(&std::fs::read_to_string(path).expect("a source file"), Literals::Blank);
        (!name.starts_with("sandbox/") && holds(&code, "Command::new")).then_some(name)
    });
    assert_eq!(starting.collect::<Vec<_>>(), listed);
}

#[test]
fn unsafe_code_stands_in_listed_files() {
    assert_clean(&ALL, unchecked);
}

#[test]
fn handler_reaches_tenant_only_through_caller() {
    assert_clean(&SERVER, callers);
}

#[test]
fn only_domain_tests_a_path_by_the_name_of_a_root() {
    assert_clean(&SERVER, prefixes);
}

#[test]
fn api_has_no_use_case() {
    assert_clean(&SERVER, use_cases);
}

#[test]
fn no_todo_or_unwrap_outside_tests() {
    assert_clean(&ALL, unfinished);
}

#[test]
fn every_check_detects_its_violation() {
    let complaint =
        |check: fn(&Source) -> Vec<String>, path: &str, text: &str| check(&Source::new(path, text)).join("; ");
    let fails = |check: fn(&Source) -> Vec<String>, path: &str, text: &str, with: &str| {
        let complaint = complaint(check, path, text);
        assert!(complaint.contains(with), "{path}: {text}: {complaint:?}");
    };
    let passes = |check: fn(&Source) -> Vec<String>, path: &str, text: &str| {
        assert_eq!(complaint(check, path, text), "", "{path}: {text}");
    };

    fails(layers, "store/x.rs", "use crate::api::App;", "`store` may not use `api`");
    fails(layers, "store/x.rs", "fn f() { crate::provider::x() }", "`store` may not use `provider`");
    fails(layers, "domain/x.rs", "use crate::{clock, tools::{a, b}};", "`domain` may not use `tools`");
    fails(layers, "prompt/x.rs", "use crate::{\n    domain::X,\n    agent,\n};", "`prompt` may not use `agent`");
    fails(layers, "newcomer/x.rs", "", "`newcomer` is in no layer");
    fails(layers, "agent/x.rs", "use crate::newcomer::X;", "`newcomer` is in no layer");
    fails(layers, "library/x.rs", "use crate::tools::Tool;", "`library` may not use `tools`");
    fails(layers, "extraction/x.rs", "use crate::library::Library;", "`extraction` may not use `library`");
    passes(layers, "tools/x.rs", "use crate::{extraction::Extractor, library::Library};");
    passes(layers, "api/x.rs", "use crate::cli::X; use crate::domain::{Event, work::Outcome};");
    passes(layers, "store/x.rs", "// use crate::api::App;\nconst X: &str = \"crate::api\"; macro!($crate::api);");

    fails(climbing, "agent/x.rs", "use super::super::store::Home;", "climbs");
    fails(climbing, "agent/mod.rs", "use super::store::Home;", "climbs");
    fails(climbing, "config.rs", "use super::store::Home;", "climbs");
    passes(climbing, "agent/x.rs", "use super::recorder::Recorder;");
    passes(climbing, "agent/mod.rs", "#[cfg(test)]\nmod tests { use super::*; }");

    fails(doors, "tools/x.rs", "std::process::Command::new(\"sh\")", "starts a process");
    fails(doors, "engine/x.rs", "tokio::fs::read(path)", "opens files");
    fails(doors, "engine/x.rs", "use std::{fs, io};", "opens files");
    fails(doors, "engine/x.rs", "let file = File::open(path)?;", "opens files");
    fails(doors, "cli/x.rs", "use cap_std::fs::Dir;", "opens files");
    fails(doors, "engine/x.rs", "reqwest::get(url)", "talks HTTP");
    fails(doors, "sandbox/x.rs", "TcpStream::connect(address)", "talks HTTP");
    fails(doors, "api/x.rs", "use hyper::client::conn;", "talks HTTP");
    fails(doors, "api/x.rs", "use hyper_util::client::legacy::Client;", "talks HTTP");
    fails(doors, "store/x.rs", "use tokio_postgres::Client;", "talks to a database server");
    passes(doors, "store/postgres/x.rs", "use tokio_postgres::Client;");
    fails(doors, "engine/x.rs", "use axum::Json;", "serves HTTP");
    fails(doors, "engine/x.rs", "use hyper::server::conn;", "serves HTTP");
    passes(doors, "api/x.rs", "fn of(stream: &TcpStream) {} use hyper::server::conn;");
    passes(doors, "store/x.rs", "use std::fs::File; use cap_std::fs::Dir;");
    passes(doors, "retrieval/x.rs", "use std::fs::File;\nfn hold(opened_by_the_store: File) {}");
    fails(doors, "retrieval/x.rs", "use std::fs::File;\nlet file = File::options().open(path)?;", "opens files");
    fails(doors, "crates/embed/src/store/x.rs", "std::fs::read(path)", "opens files");
    passes(doors, "provider/scripted/x.rs", "use axum::Json; use reqwest::Client;");
    passes(doors, "sandbox/x.rs", "Command::new(\"bash\"); std::fs::read(x)");

    fails(unchecked, "tools/x.rs", "let x = unsafe { f() };", "`unsafe`");
    fails(unchecked, "retrieval/x.rs", "pub unsafe fn f() {}", "`unsafe`");
    fails(unchecked, "crates/embed/src/sentencepiece/x.rs", "unsafe { f() }", "`unsafe`");
    passes(unchecked, "crates/embed/src/e5/x.rs", "unsafe { f() }");
    passes(unchecked, "heap.rs", "unsafe { libc::malloc_trim(0) }");
    passes(unchecked, "tools/x.rs", "// unsafe\nlet is_unsafe = \"unsafe\"; fn unsafe_words() {}");

    let handler = |arguments: &str| format!("#[utoipa::path(get)]\npub async fn read({arguments}) -> Answer {{ f() }}");
    fails(callers, "api/x.rs", &handler("State(app): State<App>"), "`read` has no `Caller`");
    fails(callers, "api/x.rs", "fn f(app: &App) { app.tenants.open(&id) }", "opens a tenant");
    fails(callers, "api/x.rs", "app.tenants.in_memory().iter()", "opens a tenant");
    passes(callers, "api/status/server.rs", "app.tenants.has_quarantined()");
    passes(callers, "api/x.rs", &handler("caller: Caller, Path(id): Path<String>"));
    passes(callers, "api/status/server.rs", "#[utoipa::path(get)]\npub async fn health(State(app): State<App>) {}");
    passes(callers, "api/security/caller.rs", "app.tenants.open(&identity.tenant)");

    fails(prefixes, "api/x.rs", "if path.starts_with(\"skills/\") {}", "a path of skills/");
    fails(prefixes, "tools/x.rs", "let below = path\n    .strip_prefix( \"memory/\");", "a path of memory/");
    fails(prefixes, "tools/x.rs", "path.starts_with(&format!(\"{}/\", Root::Skills))", "a path of Root::");
    fails(prefixes, "tools/x.rs", "name.starts_with(KNOWLEDGE)", "a path of KNOWLEDGE");
    passes(prefixes, "domain/x.rs", "path.starts_with(\"skills/\")");
    passes(
        prefixes,
        "api/x.rs",
        "// path.starts_with(\"skills/\")\nlet x = text.starts_with(\"skillset\"); f(\"skills/\");",
    );
    passes(prefixes, "api/x.rs", "#[cfg(test)]\nmod tests { fn f() { \"}\"; p.starts_with(\"skills/\") } }");

    let writes = [
        "tenant.tree.set_rag_mode(tenant.claim, on)",
        "let Tenant { tree, .. } = &**tenant;",
        "use crate::store::{Home, TreeChange};",
        "log.add_to_list(tenant.claim, &id, kind)",
        "fn f(claim: Claim) {}",
        "home.records().keep_found(&id, &work, &search)",
    ];
    writes.iter().for_each(|text| fails(use_cases, "api/x.rs", text, "writes to a home"));
    fails(use_cases, "api/x.rs", "use crate::prompt::system::{MemoryMode, assemble};", "assembles a prompt");
    fails(use_cases, "api/x.rs", "NextRequest::assemble(sources, &limits)", "assembles a prompt");
    fails(use_cases, "api/x.rs", "tenant.hub.notice(Notice::SkillsChanged)", "sends a notice");
    passes(
        use_cases,
        "engine/x.rs",
        "self.tree.set_rag_mode(self.claim, on); hub.notice(x); NextRequest::assemble(s, l)",
    );
    passes(
        use_cases,
        "api/x.rs",
        "home.records().found(&id, &work); without_claims(&mut fields); tenant.log.deleted()",
    );

    fails(unfinished, "agent/x.rs", "let x = y.unwrap();", "unwrap()");
    fails(unfinished, "agent/x.rs", "todo!()", "todo!");
    fails(unfinished, "agent/x.rs", "dbg!(x)", "dbg!");
    passes(
        unfinished,
        "agent/x.rs",
        "x.unwrap_or_default() // .unwrap()\n#[cfg(test)]\nmod tests {\n fn f() { x.unwrap() }\n}",
    );
    fails(unfinished, "agent/x.rs", "#[cfg(test)]\nmod tests { fn f() { \"}\" } }\nfn g() { x.unwrap() }", "unwrap()");
    fails(unfinished, "agent/x.rs", "fn g<'a>(c: &'a str) { let quote = '\"'; x.unwrap() }", "unwrap()");
    fails(unfinished, "agent/x.rs", "const T: &str = r#\" \" \"#; fn g() { x.unwrap() }", "unwrap()");
}

/// Checks that every test that the documents name exists, and that every row of docs/faults.md names one.
#[test]
fn tests_named_in_docs_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = String::new();
    for folder in ["src", "crates/embed", "tests", "frontend/e2e", "frontend/test"] {
        all_text(&root.join(folder), &mut texts);
    }
    let signs = |name: &str| [format!("fn {name}("), format!("test('{name}',"), format!("it('{name}',")];
    let there = |name: &str| signs(name).iter().any(|sign| texts.contains(sign));
    assert!(!there("no_test_has_this_name"), "the check must be able to fail");
    let table = std::fs::read_to_string(root.join("docs/faults.md")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| fault")).collect();
    assert!(rows.len() > 50, "{}", rows.len());
    for row in rows {
        let named: Vec<&str> = row.rsplit(" | ").next().unwrap().split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test: {row}");
        named.iter().for_each(|name| assert!(there(name), "docs/faults.md names {name}, which is no test"));
    }
    for document in ["docs/backup.md", "docs/durability.md", "docs/trust.md", "ARCHITECTURE.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|code| is_sentence(code)).collect();
        assert!(!named.is_empty(), "{document} names no test");
        named.iter().for_each(|name| assert!(there(name), "{document} names {name}, which is no test"));
    }
    assert!(is_sentence("void_claim_writes_nothing") && !is_sentence("is_searched") && !is_sentence("src/a_b_c_d.rs"));
}

/// Returns whether code in a document reads like the name of a test: four words or more in snake case.
fn is_sentence(code: &str) -> bool {
    code.split('_').count() >= 4
        && code.chars().all(|letter| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit())
}

/// Checks that test names are short claims; the details belong in the assertions.
#[test]
fn test_names_are_short() {
    const LONGEST: usize = 60;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = String::new();
    for folder in ["src", "crates", "tests"] {
        all_text(&root.join(folder), &mut texts);
    }
    let names = test_names(&texts);
    assert!(names.len() > 900, "{}", names.len());
    let long: Vec<_> = names.into_iter().filter(|name| name.len() > LONGEST).collect();
    assert!(long.is_empty(), "over {LONGEST} characters: {long:?}");

    let made_up =
        "#[tokio::test(start_paused = true)]\n#[ignore]\nasync fn slow_one() {}\nfn helper() {}\n#[test]\nfn one() {}";
    assert_eq!(test_names(made_up), ["slow_one", "one"]);
}

fn test_names(text: &str) -> Vec<&str> {
    let attribute = |line: &str| ["#[test", "#[tokio::test"].iter().any(|sign| line.trim_start().starts_with(sign));
    let mut lines = text.lines();
    let mut names = Vec::new();
    while lines.any(attribute) {
        let function = lines.find_map(|line| line.split_once("fn ")).map(|(_, rest)| rest);
        names.extend(function.and_then(|rest| rest.split(['(', '<']).next()));
    }
    names
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn layers(source: &Source) -> Vec<String> {
    let user = source.module();
    let Some(own) = layer_of(user) else { return vec![format!("`{user}` is in no layer")] };
    let used = crate_paths(&source.code).into_iter().filter(|used| used != user);
    used.filter_map(|used| match layer_of(&used) {
        None => Some(format!("`{user}` uses `{used}`, but `{used}` is in no layer")),
        Some(layer) if layer < own || (layer == TOP && own == TOP) => None,
        Some(_) => Some(format!("`{user}` may not use `{used}`")),
    })
    .collect()
}

fn climbing(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    if source.code.contains("super::super::") {
        complaints.push("climbs with `super::super::`; write `crate::…`".to_owned());
    }
    // The parent of these files is the crate root, so `super` would hide which layer is used.
    let names: Vec<&str> = source.path.split('/').collect();
    let is_root = names.len() == 1 || (names.len() == 2 && names[1] == "mod.rs");
    if is_root && source.code.contains("super::") {
        complaints.push("climbs to the crate's root with `super::`; write `crate::…`".to_owned());
    }
    complaints
}

fn doors(source: &Source) -> Vec<String> {
    let doors: [(&str, &[&str], &[&str]); 5] = [
        ("starts a process", &["sandbox/"], &["Command::new", "libc::fork", "posix_spawn"]),
        (
            "opens files",
            &["store/", "sandbox/"],
            &[
                "std::fs",
                "tokio::fs",
                "File::open",
                "File::create",
                "File::options",
                "OpenOptions",
                "cap_std",
                "std::{fs",
                "fs::read",
                "fs::write",
            ],
        ),
        (
            "talks HTTP",
            &[
                "provider/",
                "tools/fetch_url",
                "egress/",
                "cli/ask/",
                "api/forwarding/",
                "cluster/probe.rs",
                "engine/traces/",
            ],
            &["reqwest", "hyper::client", "hyper_util::client", "TcpStream::connect"],
        ),
        ("talks to a database server", &["store/postgres/"], &["tokio_postgres"]),
        ("serves HTTP", &["api/", "provider/scripted/"], &["axum", "hyper::server", "hyper_util::server"]),
    ];
    // The store opens file handles; any module may hold, read and write them.
    let code = source.code.replace("use std::fs::File;", "");
    let mut complaints = Vec::new();
    for (what, keepers, signs) in doors {
        let found = signs.iter().find(|sign| holds(&code, sign)).filter(|_| !source.is_below(keepers));
        complaints.extend(found.map(|sign| format!("{what} (`{sign}`), which only {} may", keepers.join(", "))));
    }
    complaints
}

/// Reports `unsafe` outside of the sandbox's system calls, code for specific processor instructions, and the allocator.
fn unchecked(source: &Source) -> Vec<String> {
    let keepers = [
        "sandbox/",
        "heap.rs",
        "crates/embed/src/dot.rs",
        "crates/embed/src/matrix.rs",
        "crates/embed/src/signs.rs",
        "crates/embed/src/e5/",
    ];
    let is_word = |(at, _): (usize, &str)| {
        let (before, after) = (&source.code[..at], &source.code[at + "unsafe".len()..]);
        !before.ends_with(is_of_name) && !after.starts_with(is_of_name)
    };
    let found = source.code.match_indices("unsafe").any(is_word) && !source.is_below(&keepers);
    found.then(|| format!("holds `unsafe`, which only {} may", keepers.join(", "))).into_iter().collect()
}

/// The handlers that need no caller, and the only files that open a tenant or see all of them.
const PUBLIC: [&str; 9] = [
    "health",
    "login",
    "mode",
    "oauth_client",
    "protected_resource",
    "protected_resource_of_mcp",
    "ready",
    "register",
    "sign_in_by_proxy",
];
const OPENERS: [&str; 5] =
    ["api/security/caller.rs", "api/security/requester.rs", "engine/people/mod.rs", "engine/sharing.rs", "server.rs"];

fn callers(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for part in source.code.split("#[utoipa::path(").skip(1) {
        let Some((_, function)) = part.split_once("pub async fn ") else { continue };
        let (name, rest) = function.split_once('(').unwrap_or((function, ""));
        let arguments = rest.split_once('{').map_or(rest, |(arguments, _)| arguments);
        let says_who = ["Caller", "Requester"].iter().any(|who| holds(arguments, who));
        if !says_who && !PUBLIC.contains(&name) {
            complaints.push(format!("handler `{name}` has no `Caller`"));
        }
    }
    let opens = ["tenants.open(", "tenants.in_memory("].iter().any(|sign| source.code.contains(sign));
    if opens && !OPENERS.contains(&source.path.as_str()) {
        complaints.push(format!("opens a tenant, which only {} may", OPENERS.join(", ")));
    }
    complaints
}

/// Reports a test of a path by what it begins with: a `domain::Place` knows its root.
fn prefixes(source: &Source) -> Vec<String> {
    const SIGNS: [&str; 7] =
        ["\"workspace/", "\"memory/", "\"skills/", "\"knowledge/", "\"project/", "Root::", "KNOWLEDGE"];
    if source.is_below(&["domain/"]) {
        return Vec::new();
    }
    let calls = ["starts_with(", "strip_prefix("].into_iter().flat_map(|call| source.literal.split(call).skip(1));
    let arguments = calls.map(argument);
    let found = arguments.flat_map(|text| SIGNS.into_iter().filter(move |sign| text.contains(sign)));
    found
        .map(|sign| format!("tests a path of {} by its beginning; use `Place`", sign.trim_start_matches('"')))
        .collect()
}

/// Returns the text up to the parenthesis that closes the one before it.
fn argument(rest: &str) -> &str {
    let mut depth = 1;
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return &rest[..at],
            ')' => depth -= 1,
            _ => {}
        }
    }
    rest
}

/// What only the engine does: `api/` parses a request, calls one function of the engine, and writes the answer. Every write
/// to a home needs its claim, except those of records.
fn use_cases(source: &Source) -> Vec<String> {
    let signs: [(&str, &[&str]); 3] = [
        ("writes to a home", &["claim", "Claim", "tree", "Tree", "OwnedHome", "keep_found", "keep_request"]),
        ("assembles a prompt", &["assemble", "RequestLimits"]),
        ("sends a notice", &["notice(Notice"]),
    ];
    if !source.is_below(&["api/"]) {
        return Vec::new();
    }
    let found = signs.iter().filter(|(_, signs)| signs.iter().any(|sign| holds(&source.code, sign)));
    found.map(|(what, _)| format!("{what}, which the engine does")).collect()
}

fn unfinished(source: &Source) -> Vec<String> {
    let signs = [".unwrap()", "todo!", "unimplemented!", "dbg!"];
    signs.iter().filter(|sign| source.code.contains(**sign)).map(|sign| format!("has `{sign}` outside tests")).collect()
}

/// Returns whether `code` contains `sign` at the start of a word.
fn holds(code: &str, sign: &str) -> bool {
    code.match_indices(sign).any(|(at, _)| !code[..at].ends_with(is_of_name))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the first name after every `crate::`, including those in braces.
fn crate_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| is_of_name(c) || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            paths.push(first_name(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = 0;
        for (at, c) in group.char_indices() {
            let ends_item = depth == 0 && (c == ',' || c == '}');
            if ends_item {
                paths.push(first_name(group[start..at].trim_start()));
                start = at + 1;
            }
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    paths.retain(|path| !path.is_empty());
    paths
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| is_of_name(*c)).collect()
}

/// Replaces comments, and string and character literals unless they are kept, by spaces, so that their content does not
/// count.
fn blank(text: &str, literals: Literals) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_text(rest).filter(|_| !text[..at].ends_with(is_of_name)) {
            length
        } else if rest.starts_with('"') {
            plain_text(rest)
        } else if let Some(length) = character(rest) {
            length
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        let blanked = if is_comment || literals == Literals::Blank { end } else { 0 };
        out[at..at + blanked].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at += end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn raw_text(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let marks = after.bytes().take_while(|byte| *byte == b'#').count();
    let body = after[marks..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(marks));
    let begun = rest.len() - body.len();
    Some(begun + body.find(&closing).map_or(body.len(), |end| end + closing.len()))
}

fn plain_text(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal, or None for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    if body.starts_with('\\') {
        return Some(3 + body[2..].find('\'')?);
    }
    let c = body.chars().next()?;
    body[c.len_utf8()..].starts_with('\'').then_some(c.len_utf8() + 2)
}

/// Returns the text without the items that are under `#[cfg(test)]` in `code`, which has blank literals and the same
/// length.
fn without_tests(code: &str, text: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::new();
    let mut at = 0;
    while let Some(before) = code[at..].find(MARK) {
        out.push_str(&text[at..at + before]);
        let item = at + before + MARK.len();
        at = item + item_end(&code[item..]);
    }
    out + &text[at..]
}

/// Returns the end of the item that begins here: after its braces or its semicolon.
fn item_end(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[track_caller]
fn assert_clean(folders: &[(&str, usize)], check: fn(&Source) -> Vec<String>) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut complaints = Vec::new();
    for (folder, fewest) in folders {
        let found = sources(&top.join(folder), Tests::LeftOut);
        assert!(found.len() >= *fewest, "only {} files were read in {folder}", found.len());
        for path in found {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let path = path.strip_prefix(top).expect("below the top").to_string_lossy().replace('\\', "/");
            let source = Source::new(path.strip_prefix("src/").unwrap_or(&path), &text);
            complaints.extend(check(&source).into_iter().map(|what| format!("{path}: {what}")));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Whether test files are wanted.
#[derive(Clone, Copy, PartialEq)]
enum Tests {
    Included,
    LeftOut,
}

/// Returns all source files.
fn sources(folder: &Path, tests: Tests) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_test = name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs");
        let is_wanted = tests == Tests::Included || !is_test;
        if entry.is_dir() && is_wanted {
            found.extend(sources(&entry, tests));
        } else if name.ends_with(".rs") && is_wanted {
            found.push(entry);
        }
    }
    found.sort();
    found
}

fn all_text(folder: &Path, texts: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            all_text(&entry, texts);
        } else if let Ok(text) = std::fs::read_to_string(&entry) {
            texts.push_str(&text);
        }
    }
}
