//! Works over real files: what is taken back in reverse order leaves the first tree.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::domain::Place;
use crate::engine::documents::tests::World;
use crate::store::{FileChange, FileMode, FileState, OwnedHome};
use crate::tools::files::Consent;

const FILES: [&str; 4] = ["knowledge/a.md", "memory/b.bin", "workspace/c.md", "knowledge/deep/d.sh"];

type Tree = BTreeMap<Place, FileState>;

/// What a call makes of one of [`FILES`]: a content with a mode, or nothing.
type Wanted = (usize, Option<(u8, bool)>);

fn place(at: usize) -> Place {
    Place::parse(FILES[at]).unwrap()
}

fn work(at: usize) -> WorkId {
    WorkId::new(format!("w{at}"))
}

fn tree(world: &World) -> Tree {
    let home = &world.documents.store.home;
    let files = (0..FILES.len()).filter_map(|at| Some((place(at), home.file_state(&place(at)).unwrap()?)));
    files.collect()
}

/// Makes the call; a call that would change nothing is not made.
async fn make(world: &World, call_id: &str, wanted: &[Wanted]) {
    let home = world.documents.store.home.clone();
    let mut files: Vec<FileChange> = Vec::new();
    for (at, after) in wanted {
        let (path, before) = (place(*at), home.file_state(&place(*at)).unwrap());
        let after = after.map(|(byte, executable)| FileState {
            bytes: vec![byte, 0, 255],
            mode: if executable { FileMode::Executable } else { FileMode::Regular },
        });
        if before != after && files.iter().all(|file| file.path != path) {
            files.push(FileChange { path, before, after });
        }
    }
    if !files.is_empty() {
        world.change(call_id, files, Consent::Policy).await.unwrap();
    }
}

fn changes(at: usize, calls: usize) -> WorkChanges {
    let calls = (0..calls).map(|call| format!("c{at}-{call}")).collect();
    WorkChanges { work_id: work(at), calls, stopped: Vec::new(), except: Vec::new() }
}

fn reversal(direction: Direction, changes: WorkChanges) -> WorkReversal {
    WorkReversal { direction, changes, keep: Vec::new(), others: Vec::new() }
}

/// Runs the works, and returns the tree before each and after the last.
async fn run(world: &World, works: &[Vec<Vec<Wanted>>]) -> Vec<Tree> {
    let mut trees = vec![tree(world)];
    for (at, calls) in works.iter().enumerate() {
        for (number, wanted) in calls.iter().enumerate() {
            make(world, &format!("c{at}-{number}"), wanted).await;
        }
        trees.push(tree(world));
    }
    trees
}

fn wanted() -> impl Strategy<Value = Wanted> {
    (0..FILES.len(), proptest::option::weighted(0.7, (0..3u8, any::<bool>())))
}

fn works() -> impl Strategy<Value = Vec<Vec<Vec<Wanted>>>> {
    let calls = proptest::collection::vec(proptest::collection::vec(wanted(), 1..3), 0..4);
    proptest::collection::vec(calls, 1..4)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn works_taken_back_in_reverse_leave_the_first_tree(works in works(), cut in 0..4usize) {
        block_on(async {
            let world = World::new().await;
            world.write(FILES[0], "a person's");
            let trees = run(&world, &works).await;
            for (at, calls) in works.iter().enumerate().rev() {
                // Some files are already what they were, as after a crash between two of them.
                let wanted = reversal(Direction::Undo, changes(at, calls.len()));
                let planned = world.documents.plan_work(&world.session, wanted.clone()).await.unwrap();
                let done = planned.into_iter().filter_map(|file| file.change).take(cut);
                let OwnedHome { tree: port, claim, .. } = &world.documents.store;
                port.revert(*claim, &world.session, done.collect()).await.unwrap();

                world.documents.change_work(&world.session, wanted).await.unwrap();
                assert_eq!(tree(&world), trees[at], "work {at}");
            }
            for (at, calls) in works.iter().enumerate() {
                let wanted = reversal(Direction::Redo, changes(at, calls.len()));
                world.documents.change_work(&world.session, wanted).await.unwrap();
                assert_eq!(tree(&world), trees[at + 1], "work {at}, again");
            }
        });
    }

    #[test]
    fn work_is_taken_back_first_only_if_nothing_built_on_it(works in works()) {
        block_on(async {
            let world = World::new().await;
            let trees = run(&world, &works).await;
            let paths = |at: usize| -> Vec<EntryPath> {
                let kept = world.documents.store.home.session_files(&world.session);
                let calls = changes(at, works[at].len()).calls.into_iter();
                calls.flat_map(|call| kept.changed_paths(&call).unwrap()).collect()
            };
            // What the work made and took back itself is nothing that another one could build on.
            let stands = |path: &EntryPath| {
                let place = path.place().unwrap();
                trees[0].get(&place) != trees[1].get(&place)
            };
            let others: Vec<_> = (1..works.len()).map(|at| changes(at, works[at].len())).collect();
            let built_on: Vec<WorkId> = (1..works.len())
                .filter(|at| paths(*at).iter().any(stands))
                .map(work)
                .collect();
            let wanted = WorkReversal { others, ..reversal(Direction::Undo, changes(0, works[0].len())) };
            match world.documents.change_work(&world.session, wanted).await {
                Ok(_) => assert_eq!(built_on, []),
                Err(WithdrawRefused::LaterWorks { works: named, files }) => {
                    assert_eq!(tree(&world), *trees.last().unwrap(), "a refusal changes nothing");
                    assert!(files.iter().all(stands));
                    assert_eq!(named.iter().collect::<std::collections::HashSet<_>>().len(), built_on.len());
                    assert!(named.iter().all(|work| built_on.contains(work)), "{named:?} {built_on:?}");
                }
                Err(other) => panic!("{other}"),
            }
        });
    }
}

#[tokio::test]
async fn changed_file_is_named_and_kept_on_request() {
    let world = World::new().await;
    let text = |byte| Some((byte, false));
    let works = [vec![vec![(0, text(1)), (1, text(1))], vec![(2, text(1))]]];
    run(&world, &works).await;
    world.write(FILES[0], "mine");
    let wanted = reversal(Direction::Undo, changes(0, 2));
    let refused = world.documents.change_work(&world.session, wanted.clone()).await;
    assert!(matches!(&refused, Err(WithdrawRefused::ChangedSince(files)) if *files == [FILES[0]]), "{refused:?}");
    assert_eq!(tree(&world).len(), 3, "nothing was changed");

    let other = WorkReversal { keep: vec![place(0).into(), place(3).into()], ..wanted.clone() };
    let refused = world.documents.change_work(&world.session, other).await;
    assert!(matches!(&refused, Err(WithdrawRefused::NotChanged(path)) if *path == place(3).into()), "{refused:?}");

    let files =
        world.documents.change_work(&world.session, WorkReversal { keep: vec![place(0).into()], ..wanted }).await;
    let effects: Vec<_> = files.unwrap().into_iter().map(|file| file.effect).collect();
    assert_eq!(effects, [FileEffect::Kept, FileEffect::Deleted, FileEffect::Deleted]);
    assert_eq!(tree(&world).keys().map(ToString::to_string).collect::<Vec<_>>(), [FILES[0]]);
    let again = WorkChanges { except: vec![place(0).into()], ..changes(0, 2) };
    world.documents.change_work(&world.session, reversal(Direction::Redo, again)).await.unwrap();
    assert_eq!((tree(&world).len(), &tree(&world)[&place(0)].bytes[..]), (3, &b"mine"[..]));
}

#[tokio::test]
async fn edit_between_two_calls_of_the_work_is_a_conflict() {
    let world = World::new().await;
    make(&world, "c0-0", &[(0, Some((1, false)))]).await;
    world.write(FILES[0], "mine, in between");
    make(&world, "c0-1", &[(0, None)]).await;
    let wanted = reversal(Direction::Undo, changes(0, 2));
    let planned = world.documents.plan_work(&world.session, wanted).await.unwrap();
    assert_eq!(planned[0].conflict, Some(FileConflict::ChangedSince), "nobody would have the person's text back");
}

#[tokio::test]
async fn folder_in_the_place_of_a_file_is_a_conflict() {
    let world = World::new().await;
    make(&world, "c0-0", &[(0, Some((1, false))), (1, Some((1, false)))]).await;
    std::fs::remove_file(world.at(FILES[0])).unwrap();
    std::fs::create_dir(world.at(FILES[0])).unwrap();
    let refused = world.documents.change_work(&world.session, reversal(Direction::Undo, changes(0, 1))).await;
    assert!(matches!(&refused, Err(WithdrawRefused::ChangedSince(files)) if *files == [FILES[0]]), "{refused:?}");
    assert!(world.at(FILES[1]).exists());
}

#[tokio::test]
async fn change_of_a_stopped_call_counts_if_the_file_shows_it() {
    let world = World::new().await;
    let text = |byte| Some((byte, false));
    make(&world, "c0-0", &[(0, text(1)), (1, text(1))]).await;
    // Stopped: its change of one file was made, and that of another was not.
    make(&world, "c0-1", &[(0, text(2)), (2, text(2))]).await;
    std::fs::remove_file(world.at(FILES[2])).unwrap();
    make(&world, "c0-2", &[(1, text(3))]).await;
    let stopped = WorkChanges { stopped: vec!["c0-1".to_owned()], ..changes(0, 3) };
    let files = world.documents.change_work(&world.session, reversal(Direction::Undo, stopped)).await.unwrap();
    let found: Vec<_> = files.iter().map(|file| (file.calls.join(" "), file.effect)).collect();
    let row = |calls: &str, effect| (calls.to_owned(), effect);
    let wanted =
        [row("c0-0 c0-1", FileEffect::Deleted), row("c0-0 c0-2", FileEffect::Deleted), row("", FileEffect::Unchanged)];
    assert_eq!((found, tree(&world).len()), (wanted.to_vec(), 0));
}

#[tokio::test]
async fn stopped_call_before_another_counts_if_that_one_saw_it() {
    let text = |byte| Some((byte, false));
    for (was_made, calls) in [(true, "c0-0 c0-1"), (false, "c0-1")] {
        let world = World::new().await;
        make(&world, "c0-0", &[(0, text(1))]).await;
        if !was_made {
            std::fs::remove_file(world.at(FILES[0])).unwrap();
        }
        make(&world, "c0-1", &[(0, text(2))]).await;
        let stopped = WorkChanges { stopped: vec!["c0-0".to_owned()], ..changes(0, 2) };
        let files = world.documents.change_work(&world.session, reversal(Direction::Undo, stopped)).await.unwrap();
        assert_eq!((files[0].calls.join(" "), files[0].effect), (calls.to_owned(), FileEffect::Deleted));
    }
}

#[tokio::test]
async fn file_whose_content_is_damaged_is_named() {
    let world = World::new().await;
    make(&world, "c0-0", &[(0, Some((1, false)))]).await;
    make(&world, "c1-0", &[(0, Some((2, false))), (1, Some((2, false)))]).await;
    let blobs = std::fs::read_dir(world.at("sessions/changes/s/blobs")).unwrap().map(|blob| blob.unwrap().path());
    let first = blobs.filter(|blob| std::fs::read(blob).unwrap() == [1, 0, 255]);
    first.for_each(|blob| std::fs::write(blob, "other").unwrap());
    let wanted = reversal(Direction::Undo, changes(1, 1));
    let refused = world.documents.change_work(&world.session, wanted.clone()).await;
    assert!(matches!(&refused, Err(WithdrawRefused::ChangedSince(files)) if *files == FILES[..1]), "{refused:?}");
    assert_eq!(tree(&world).len(), 2);
    let kept = WorkReversal { keep: vec![place(0).into()], ..wanted };
    world.documents.change_work(&world.session, kept).await.unwrap();
    assert_eq!(tree(&world).len(), 1, "the other file needs no content");
}
