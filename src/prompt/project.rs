//! What a session that is bound to a project has in its prompt besides the parts of the home: how its paths work, and the
//! project's AGENTS.md files, as far as a person trusts them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::system::{Absent, PART_LIMIT, SystemPrompt};
use crate::domain::{Place, RelPath, Root, Session};
use crate::store::{Home, InstructionText, Instructions};

/// Label of the instructions of a session that is bound to a project.
const PROJECT_LABEL: &str = "Project";
/// What the model is told in a session that is bound to a project.
const PROJECT_GUIDE: &str = "This conversation works in a project folder, with its own tools: what the guide says of \
terminal and of the home's file tools does not count here. Paths begin at the project's root. A file of the home, such as a \
skill, is named with home: before its path, as home:skills/x/SKILL.md.";
/// Label of a project's AGENTS.md files.
const GUIDE_LABEL: &str = "Project Guide";
/// Why such a file is not in the prompt.
const UNTRUSTED: &str = "Nobody has trusted this version yet";
const NO_ROOM: &str = "The project's guides are longer than 20,000 characters together";
/// Number of a session's latest calls whose files are at work.
const CALLS_AT_WORK: usize = 10;
/// Maximum number of folders whose guides are looked for, besides the root.
const MAX_FOLDERS: usize = 20;

/// Adds the parts of the project that a session is bound to, if this home has it.
pub fn add_project(system: &mut SystemPrompt, home: &Home, session: &Session) {
    let Some(root) = session.project_id.clone().map(Root::Project).filter(|root| home.has_root(root)) else { return };
    system.add_instructions(PROJECT_LABEL, PROJECT_GUIDE);
    add_guides(system, home, (&root, session));
}

/// Adds the guide at the project's root, and those on the way to the files at work, all of them within the limit of one part.
fn add_guides(system: &mut SystemPrompt, home: &Home, (root, session): (&Root, &Session)) {
    let mut left = PART_LIMIT;
    let folders = std::iter::once(Place::of_root(root.clone())).chain(folders_at_work(root, session));
    for Instructions { place, text } in folders.filter_map(|folder| home.guide_of(&folder)) {
        let absent = match text {
            InstructionText::Trusted { text, etag } => match add_guide(system, (&place, &text, etag), &mut left) {
                None => continue,
                Some(absent) => absent.to_owned(),
            },
            InstructionText::Untrusted { .. } => UNTRUSTED.to_owned(),
            InstructionText::Unusable(reason) => reason,
        };
        system.leave_out((GUIDE_LABEL, &place), Absent::LeftOut(absent));
    }
}

/// Adds a guide if it is not empty and there is room for it. Returns why not.
fn add_guide(
    system: &mut SystemPrompt,
    (place, text, etag): (&Place, &str, String),
    left: &mut usize,
) -> Option<&'static str> {
    let whole = text.trim_start_matches('\u{feff}');
    let text = whole.trim_start();
    let line = 1 + whole[..whole.len() - text.len()].matches('\n').count();
    let text = text.trim_end();
    let characters = text.chars().count();
    if text.is_empty() {
        return Some("File is empty");
    }
    // The first one is shortened like every part of the prompt.
    if characters > *left && *left < PART_LIMIT {
        return Some(NO_ROOM);
    }
    *left = left.saturating_sub(characters);
    // A name of a folder cannot end the heading.
    let heading = format!("{GUIDE_LABEL}: {}", place.path().replace("--", "- -"));
    let from = (u32::try_from(line).unwrap_or(u32::MAX), etag);
    system.push_headed((GUIDE_LABEL, &heading, Some(place)), text, Some(from));
    None
}

/// Returns the folders below the project's root that contain the files of the latest calls, each after those around it.
fn folders_at_work(root: &Root, session: &Session) -> BTreeSet<Place> {
    let calls = session
        .messages
        .iter()
        .rev()
        .filter(|message| session.is_in_effect(message))
        .flat_map(|message| message.tool_calls.iter().rev());
    let mut named = Vec::new();
    for arguments in calls.take(CALLS_AT_WORK).filter_map(|call| call.arguments.as_ref()) {
        add_paths(arguments, &mut named);
    }
    let mut folders = BTreeSet::new();
    for path in named {
        let place =
            RelPath::parse(path.trim_start_matches('/')).and_then(|path| Place::parse(&format!("{root}/{path}")));
        let way = std::iter::successors(place.ok(), |place| Some(place.containing()));
        // The file itself may be a folder: a list of its content is work in it.
        for folder in way.take_while(|place| !place.path().is_empty()) {
            if folders.len() < MAX_FOLDERS {
                folders.insert(folder);
            }
        }
    }
    folders
}

/// Adds the paths that the arguments of a tool for files name.
fn add_paths<'a>(arguments: &'a Value, paths: &mut Vec<&'a str>) {
    const NAMES: [&str; 4] = ["path", "paths", "items", "commands"];
    let values = NAMES.iter().filter_map(|name| arguments.get(name));
    for value in values {
        match value {
            Value::String(path) if !path.starts_with("home:") => paths.push(path),
            Value::Array(items) => {
                for item in items.iter().take(MAX_FOLDERS) {
                    match item {
                        Value::String(path) => paths.push(path),
                        item => ["path", "from", "to", "working_directory"].iter().for_each(|name| {
                            paths.extend(item.get(name).and_then(Value::as_str));
                        }),
                    }
                }
            }
            _ => {}
        }
    }
}
