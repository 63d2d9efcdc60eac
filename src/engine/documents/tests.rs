//! Changes without a watcher: nothing else rereads skills or notifies clients.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::engine::hub::PublishedItem;
use crate::store::{FileMode, FileState, Home};
use crate::tools::{RunOptions, Tool, ToolContext};

const SKILL: &str = "---\nname: tea\ndescription: Makes tea.\n---\n";

pub(super) struct World {
    folder: tempfile::TempDir,
    pub(super) documents: Documents,
    notices: crate::engine::Subscription,
    pub(super) session: SessionId,
}

impl World {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = OwnedHome::claim(Home::open(folder.path()).unwrap()).await.unwrap();
        store.tree.initialize_trust(store.claim, Vec::new()).await.unwrap();
        let listeners = Listeners {
            authors: Arc::default(),
            libraries: Vec::new(),
            skills: Arc::default(),
            hub: Arc::new(Hub::new()),
            models: OnceLock::new(),
        };
        let notices = listeners.hub.follow_all(None);
        let session = SessionId::parse("s").unwrap();
        Self { folder, documents: Documents::new(store, listeners), notices, session }
    }

    pub(super) fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), content).unwrap();
    }

    fn skills(&self) -> Vec<String> {
        self.documents.listeners.skills.list().into_iter().map(|skill| skill.location.to_string()).collect()
    }

    /// Returns the files that clients were told of since the last call, each with its author; `-` marks a deleted file.
    fn told(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Ok(published) = self.notices.live.try_recv() {
            if let PublishedItem::Notice(Notice::FileChanged { path, etag, by }) = &published.what {
                told.push(format!("{}{path} {by:?}", if etag.is_some() { "" } else { "-" }));
            }
        }
        told
    }

    pub(super) async fn change(
        &self,
        call_id: &str,
        files: Vec<FileChange>,
        consent: Consent,
    ) -> Result<(), StoreError> {
        let (session, call_id) = (self.session.clone(), call_id.to_owned());
        (self.documents.access().apply)(CallChange {
            session,
            call_id,
            files: ChangeSet(files),
            folders: Vec::new(),
            consent,
        })
        .await
    }

    async fn undo(&self, direction: Direction) -> Result<Undone, UndoError> {
        self.documents.undo(&self.session, "c", direction).await
    }
}

fn place(path: &str) -> Place {
    Place::parse(path).unwrap()
}

fn file(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileChange {
    let state = |bytes: &[u8]| FileState { bytes: bytes.to_vec(), mode: FileMode::Regular };
    FileChange { path: place(path), before: before.map(state), after: after.map(state) }
}

#[tokio::test]
async fn agents_skill_and_its_undo_are_listed_at_once() {
    let mut world = World::new().await;
    let skill = "skills/tea/SKILL.md";
    world.change("c", vec![file(skill, None, Some(SKILL.as_bytes()))], Consent::Person).await.unwrap();
    assert_eq!(world.skills(), [skill]);
    assert!(world.documents.listeners.skills.untrusted().is_empty(), "a person approved it");
    assert_eq!(world.told(), [format!("{skill} Run")]);
    world.undo(Direction::Undo).await.unwrap();
    assert!(world.skills().is_empty());
    assert_eq!(world.told(), [format!("-{skill} Run")]);
    world.undo(Direction::Redo).await.unwrap();
    assert_eq!(world.skills(), [skill]);
    assert_eq!(world.told(), [format!("{skill} Run")]);
}

#[tokio::test]
async fn change_without_consent_trusts_nothing() {
    let world = World::new().await;
    let skill = "skills/tea/SKILL.md";
    world.change("c", vec![file(skill, None, Some(SKILL.as_bytes()))], Consent::Policy).await.unwrap();
    assert_eq!(world.documents.listeners.skills.untrusted().len(), 1);
}

fn typed(text: &str) -> SavedText {
    SavedText { text: text.into(), expect: Expect::Absent, by: SavedBy::Page }
}

#[tokio::test]
async fn text_that_a_program_saves_is_not_trusted() {
    let world = World::new().await;
    let skill = place("skills/tea/SKILL.md");
    let saved = SavedText { by: SavedBy::Program, ..typed(SKILL) };
    world.documents.save(&skill, saved).await.unwrap();
    assert_eq!(world.documents.listeners.skills.untrusted().len(), 1);
}

#[tokio::test]
async fn restored_file_is_attributed_to_the_person() {
    let mut world = World::new().await;
    let skill = place("skills/tea/SKILL.md");
    let saved = world.documents.save(&skill, typed(SKILL)).await.unwrap();
    let trash = world.documents.delete(&skill, Expect::Anything).await.unwrap();
    assert!(world.skills().is_empty());
    let restored = world.documents.restore(trash).await.unwrap();
    assert_eq!((&restored, world.skills()), (&saved, vec![skill.to_string()]));
    assert_eq!(world.told(), [format!("{skill} Editor"), format!("-{skill} Editor"), format!("{skill} Editor")]);
    // The watcher sees the version afterwards, and neither attributes it to the disk nor tells it again.
    let authors = &world.documents.listeners.authors;
    assert_eq!(authors.known(&skill, &restored.etag), Some(ChangedBy::Editor));
    assert_eq!(authors.tell(&skill, &restored.etag), None);
}

#[tokio::test]
async fn author_is_noted_before_the_write() {
    let world = World::new().await;
    let path = place("memory/a.md");
    let authors = world.documents.listeners.authors.clone();
    let write = async {
        assert_eq!(authors.known(&path, &etag(b"one")), Some(ChangedBy::Editor));
        Err::<(), _>(StoreError::DiskFull)
    };
    let failed = world.documents.apply(Change::written(&path, b"one"), Author::Person, write).await;
    assert!(matches!(failed, Err(StoreError::DiskFull)));
}

#[tokio::test]
async fn failed_change_is_not_told() {
    let mut world = World::new().await;
    world.write("memory/a.md", "mine");
    let path = place("memory/a.md");
    assert!(world.documents.save(&path, typed("other")).await.is_err());
    assert!(world.change("c", vec![file("memory/a.md", None, Some(b"x"))], Consent::Policy).await.is_err());
    assert!(world.told().is_empty());
    world.documents.rename(&path, &place("memory/b.md"), Expect::Anything).await.unwrap();
    assert_eq!(world.told(), ["memory/b.md Editor", "-memory/a.md Editor"]);
}

#[tokio::test]
async fn undo_of_a_set_changes_all_files_or_none() {
    let world = World::new().await;
    world.write("knowledge/a.bin", [0, 255]);
    world.write("memory/gone.md", "gone");
    let set = vec![
        file("knowledge/a.bin", Some(&[0, 255]), Some(&[255, 254])),
        file("memory/new.md", None, Some(b"new")),
        file("memory/gone.md", Some(b"gone"), None),
    ];
    world.change("c", set, Consent::Policy).await.unwrap();
    world.write("memory/new.md", "mine");
    let refused = world.undo(Direction::Undo).await;
    assert!(matches!(&refused, Err(UndoError::Changed(path)) if path == "memory/new.md"), "{refused:?}");
    assert_eq!(std::fs::read(world.at("knowledge/a.bin")).unwrap(), [255, 254], "the file before it is as it was");
    assert!(!world.at("memory/gone.md").exists());

    world.write("memory/new.md", "new");
    assert_eq!(world.undo(Direction::Undo).await.unwrap().direction, Direction::Undo);
    assert_eq!(std::fs::read(world.at("knowledge/a.bin")).unwrap(), [0, 255]);
    assert_eq!(std::fs::read(world.at("memory/gone.md")).unwrap(), b"gone");
    assert!(!world.at("memory/new.md").exists());
    world.undo(Direction::Redo).await.unwrap();
    assert_eq!(std::fs::read(world.at("memory/new.md")).unwrap(), b"new");
    assert!(!world.at("memory/gone.md").exists());
}

/// Runs a file tool with these arguments, as the call `c`.
async fn run(world: &World, tool: &dyn Tool, arguments: serde_json::Value) -> String {
    let conversation = crate::domain::Session::new("", 0.0);
    let context = ToolContext::new(&world.session, "c", &conversation);
    let call = tool.prepare(arguments, context).await.unwrap();
    let options = RunOptions::default();
    call.run(options).await.unwrap().text
}

#[tokio::test]
async fn deleted_binary_file_is_restored_by_undo() {
    let world = World::new().await;
    world.write("knowledge/a.bin", [0, 255, 254]);
    let tool = crate::tools::FileTool::delete(world.documents.access());
    let text = run(&world, &tool, serde_json::json!({"path": "knowledge/a.bin"})).await;
    assert_eq!(text, "deleted knowledge/a.bin (binary file, 3 bytes)");
    assert!(!world.at("knowledge/a.bin").exists());
    world.undo(Direction::Undo).await.unwrap();
    assert_eq!(std::fs::read(world.at("knowledge/a.bin")).unwrap(), [0, 255, 254]);
}

#[tokio::test]
async fn undo_of_deletion_restores_the_executable_bit() {
    let world = World::new().await;
    world.write("skills/x/run.sh", "#!/bin/sh\n");
    let script = world.at("skills/x/run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let tool = crate::tools::FileTool::delete(world.documents.access());
    run(&world, &tool, serde_json::json!({"path": "skills/x/run.sh"})).await;
    assert!(!script.exists());
    world.undo(Direction::Undo).await.unwrap();
    assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(std::fs::read(&script).unwrap(), b"#!/bin/sh\n");
}

#[tokio::test]
async fn undo_of_edit_keeps_the_mode_that_a_person_set_since() {
    let world = World::new().await;
    world.write("memory/a.md", "old");
    let note = world.at("memory/a.md");
    let tool = crate::tools::FileTool::edit(world.documents.access());
    let edits = serde_json::json!([{"search": "old", "replace": "new"}]);
    run(&world, &tool, serde_json::json!({"path": "memory/a.md", "edits": edits})).await;
    std::fs::set_permissions(&note, std::fs::Permissions::from_mode(0o700)).unwrap();
    world.undo(Direction::Undo).await.unwrap();
    assert_eq!(std::fs::read(&note).unwrap(), b"old");
    assert_eq!(std::fs::metadata(&note).unwrap().permissions().mode() & 0o777, 0o700);
}
