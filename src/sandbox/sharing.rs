//! Whether the commands of one person can work in the folder of another on this machine.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{COMMAND_MEMORY, Exit, Job, Network, Sandbox};
use crate::clock;
use crate::domain::FolderOwner;

/// Time limit of the command that is tried.
const WALL: Duration = Duration::from_secs(20);

impl Sandbox {
    /// Tries a command of the second user in a folder of the first one, made in `parent`. Returns why it does not work; `None`
    /// if what it makes belongs to the first user.
    pub async fn exchange_obstacle(&self, parent: &Path, [owner, member]: [u32; 2]) -> Option<String> {
        let folder = parent.join(format!("exchange-{}", clock::new_secret()));
        if let Err(error) = DirBuilder::new().mode(0o700).create(&folder) {
            return Some(error.to_string());
        }
        let job = Job {
            argv: ["/bin/sh", "-c", "echo made > made"].map(str::to_owned).into(),
            cwd: folder.clone(),
            readable: Vec::new(),
            env: Vec::new(),
            wall: WALL,
            output_cap: 4096,
            memory: COMMAND_MEMORY,
            network: Network::None,
            capture: None,
            owner: FolderOwner::Sharer { uid: owner, is_read_only: false },
        };
        let ended = self.of_person(member).run(job, CancellationToken::new()).await;
        let obstacle = match ended {
            Ok(done) if done.exit == Exit::Code(0) => match fs::symlink_metadata(folder.join("made")) {
                Ok(made) if made.uid() == owner && made.gid() == owner => None,
                Ok(made) => Some(format!("files would belong to the user {}", made.uid())),
                Err(error) => Some(error.to_string()),
            },
            Ok(done) => Some(done.stderr.text()),
            Err(error) => Some(error.to_string()),
        };
        // What stays is empty but for the file, and nobody's.
        let _ = fs::remove_dir_all(&folder);
        obstacle
    }
}
