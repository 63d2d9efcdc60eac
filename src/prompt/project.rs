//! What a session that is bound to a project has in its prompt besides the parts of the home: how its paths work, and the
//! project's AGENTS.md files, as far as a person trusts them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::system::{Absent, PART_LIMIT, SystemPrompt};
use crate::domain::{Place, RelPath, Root, Session};
use crate::skills::{Skill, SkillMessage, project_snapshot};
use crate::store::{Home, InstructionText, Instructions, StoreError};

/// Label of the instructions of a session that is bound to a project.
const PROJECT_LABEL: &str = "Project";
/// What the model is told in a session that is bound to a project.
const PROJECT_GUIDE: &str = "This conversation works in a project folder, with its own tools: what the guide says of \
terminal and of the home's file tools does not count here. Paths begin at the project's root. A file of the home, such as a \
skill, is named with home: before its path, as home:skills/x/SKILL.md.";
/// What the model is told once that project is gone.
const PROJECT_IS_GONE: &str = "The project that this conversation worked in was deleted or is not shared any more. None of its \
files is here, and the tools are those of the home. If the person asks for something in the project, say so: they can restore it, or \
choose another folder for this conversation.";
/// Label of a project's AGENTS.md files.
const GUIDE_LABEL: &str = "Project Guide";
/// Label of a project's skills.
const SKILLS_LABEL: &str = "Project Skills";
/// What the model is told of them.
const SKILLS_GUIDE: &str = "Skills of this project. Their paths begin at its root, without home:.";
/// Why such a file is not in the prompt.
const UNTRUSTED: &str = "Nobody has trusted this version yet";
const NO_ROOM: &str = "The project's guides are longer than 20,000 characters together";
/// Number of a session's latest calls whose files are at work.
const CALLS_AT_WORK: usize = 10;
/// Maximum number of folders whose guides are looked for, besides the root.
const MAX_FOLDERS: usize = 20;

/// Adds the parts of the project that a session is bound to, or says that it is gone.
pub fn add_project(system: &mut SystemPrompt, home: &Home, session: &Session) {
    let Some(root) = session.project_id.clone().map(Root::Project) else { return };
    if !home.has_root(&root) {
        return system.add_instructions(PROJECT_LABEL, PROJECT_IS_GONE);
    }
    system.add_instructions(PROJECT_LABEL, PROJECT_GUIDE);
    add_guides(system, home, (&root, session));
    add_skills(system, home, &root);
}

/// Adds the list of the project's skills that a person trusts.
fn add_skills(system: &mut SystemPrompt, home: &Home, root: &Root) {
    let ProjectSkills { skills, waiting } = project_skills(home, root);
    if !skills.is_empty() {
        let list = project_snapshot(&skills);
        system.add_instructions(SKILLS_LABEL, &format!("{SKILLS_GUIDE}\n{}", list.trim_end()));
    }
    for (place, why) in waiting {
        system.leave_out((SKILLS_LABEL, &place), Absent::LeftOut(why));
    }
}

/// The skills of a project.
struct ProjectSkills {
    /// Those whose SKILL.md a person trusts. One with a taken name has an error.
    skills: Vec<Skill>,
    /// Those whose SKILL.md nobody has trusted or that cannot be read, with the reason.
    waiting: Vec<(Place, String)>,
}

fn project_skills(home: &Home, root: &Root) -> ProjectSkills {
    let mut of_home = None;
    let mut all = ProjectSkills { skills: Vec::new(), waiting: Vec::new() };
    for Instructions { place, text } in home.project_skills(root) {
        let text = match text {
            InstructionText::Trusted { text, .. } => text,
            InstructionText::Untrusted { .. } => {
                all.waiting.push((place, UNTRUSTED.to_owned()));
                continue;
            }
            InstructionText::Unusable(why) => {
                all.waiting.push((place, why));
                continue;
            }
        };
        let mut skill = Skill::parse(&place, text.as_bytes());
        let of_home = match of_home.get_or_insert_with(|| home_skills(home)) {
            Ok(of_home) => of_home,
            // Nobody knows whether it would stand for one of the home.
            Err(error) => {
                all.waiting.push((place, error.to_string()));
                continue;
            }
        };
        let of_project = all.skills.iter().filter(|other| other.error.is_none());
        if let Some(other) = of_home.iter().chain(of_project).find(|other| other.is_named_like(&skill)) {
            let location = match other.location.root() {
                Root::Skills => format!("home:{}", other.location),
                _ => format!("/{}", other.location.path()),
            };
            skill.fail(SkillMessage::name_taken(&location));
        }
        all.skills.push(skill);
    }
    all
}

/// Returns the skills of the home, disabled ones too.
fn home_skills(home: &Home) -> Result<Vec<Skill>, StoreError> {
    let files = home.skill_files()?;
    let paths = files.files.iter().map(|file| &file.path).filter(|path| path.file_name() == "SKILL.md");
    Ok(paths.filter_map(|path| Some(Skill::parse(path, &home.read_bytes(path).ok()?))).collect())
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
