//! Commands on a server of a cluster that does not have the home: they go through it, or say where to run them.

use std::process::Output;

use crate::cluster_world::{Client, Cluster, Network};
use crate::script::{always, says, script};
use crate::world::{CONFIG, World};

async fn run(world: &World, arguments: &[&str]) -> (Output, String) {
    let home = world.home();
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--home", home.to_str().unwrap()]).collect();
    let output = world.run(&arguments).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[tokio::test]
async fn commands_on_a_server_without_the_home_work_or_say_where() {
    let cluster = Cluster::new(2, (CONFIG, Network::Direct), |_| script([always(says(["Fine."]))]));
    let Some(cluster) = cluster.await else { return };
    let [with, without] = [0, 1].map(|at| &cluster.members[at].world);
    let (_, said) = run(without, &["token", "list"]).await;
    assert!(said.contains("no server has it now"), "{said}");
    let (first, mut second) = (cluster.serve(0).await, cluster.serve(1).await);
    let mut client = Client::default();
    client.say(&[&first], "one").await;
    client.read_to_the_end(&[&first]).await;
    assert_eq!(cluster.owner().await, Some(0));
    // The server of the folder passes the question on.
    let (answer, said) = run(without, &["ask", "two"]).await;
    assert!(answer.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&answer.stdout).contains("Fine."), "{said}");
    assert_eq!(cluster.owner().await, Some(0), "it stays where it is");
    // A token is a file of the home.
    let owner = format!("http://{}", cluster.members[0].address);
    for command in [&["token", "add", "--scope", "ask"][..], &["token", "list"], &["token", "revoke", "x"]] {
        let (refused, said) = run(without, command).await;
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(
            refused.stdout.is_empty() && said.contains(&owner) && said.contains("run this command there"),
            "{said}"
        );
    }
    let (made, said) = run(with, &["token", "add", "--scope", "ask"]).await;
    assert!(made.status.success(), "{said}");
    second.token = Some(String::from_utf8(made.stdout).unwrap().trim().to_owned());
    assert_eq!(second.get("/v1/models").await.status(), 200, "it counts over every server");
    let (refused, said) = run(without, &["skills", "trust", "--all"]).await;
    assert!(refused.status.code() == Some(1) && said.contains("trust skills on the page"), "{said}");
}
