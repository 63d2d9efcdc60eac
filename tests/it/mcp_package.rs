//! MCP servers that are installed from a package, with npm and a registry of the test.

use serde_json::{Value, json};

use crate::mcp::one;
use crate::mcp_remote::Remote;
use crate::script::script;
use crate::world::{Server, World, files};

/// The registry of these tests is on this machine, which the sandbox closes.
const WITHOUT_FENCE: [&str; 4] = ["--port", "0", "--sandbox", "off"];

async fn world(registry: &Remote) -> World {
    let world = World::new(script([])).await;
    world.write(".env", format!("npm_config_registry=http://127.0.0.1:{}/\n", registry.port));
    world
}

async fn install(server: &Server<'_>, wanted: Value) -> Value {
    one(&server.as_page("POST", "/api/mcp-packages", wanted).await.ok(), "pets-server")
}

async fn confirm(server: &Server<'_>, shown: &Value) -> Value {
    let body = json!({"sha256": shown["sha256"]});
    one(&server.as_page("POST", "/api/mcp/pets-server/trust", body).await.ok(), "pets-server")
}

async fn version(server: &Server<'_>) -> String {
    let body = json!({"tool": "version", "arguments": {}});
    let answer = server.as_page("POST", "/api/mcp/pets-server/call", body).await;
    match answer.status() {
        200 => answer.ok()["text"].as_str().unwrap().to_owned(),
        _ => answer.text(),
    }
}

#[tokio::test]
async fn package_is_installed_once_and_starts_offline() {
    let registry = Remote::start_program("registry.py");
    let world = world(&registry).await;
    let server = world.serve_with(&WITHOUT_FENCE).await;
    let wanted = |version: &str| json!({"package": format!("npm:pets-server@{version}")});
    assert_eq!(server.post("/api/mcp-packages", wanted("1.0.0")).await.status(), 403, "only the page");
    for bad in ["npm:pets-server", "npm:pets-server@latest", "npm:../x@1.0.0", "pets-server@1.0.0"] {
        let refused = server.as_page("POST", "/api/mcp-packages", json!({"package": bad})).await;
        assert_eq!(refused.refused(), (400, "bad_mcp_entry".to_owned()), "{bad}");
    }
    let missing = server.as_page("POST", "/api/mcp-packages", wanted("9.9.9")).await;
    assert_eq!(missing.refused(), (502, "mcp_failed".to_owned()), "{}", missing.text());

    let shown = install(&server, json!({"package": "npm:pets-server@1.0.0", "args": ["a", "b"]})).await;
    assert_eq!((&shown["status"], &shown["package"]["version"]), (&json!("unconfirmed"), &json!("1.0.0")), "{shown}");
    let folder = world.path("storage/mcp-packages/pets-server/1.0.0");
    assert!(std::fs::read_to_string(folder.join("package-lock.json")).unwrap().contains("sha512-"));
    assert!(!files(&folder).iter().any(|path| path.ends_with("scripts-ran")), "its scripts did not run");
    assert!(!folder.join(".cache").exists());
    // In the sandbox npm reaches public hosts only; what it has fetched starts there, and needs nobody any more.
    server.terminate().await;
    let server = world.serve().await;
    let refused = server.as_page("POST", "/api/mcp-packages", wanted("1.1.0")).await;
    assert!(refused.text().contains("403 Forbidden"), "{}", refused.text());
    drop(registry);
    let started = confirm(&server, &shown).await;
    assert_eq!(started["status"], "running", "{started}");
    assert_eq!(version(&server).await, "1.0.0 a b");

    // A lock file that was changed is not the one that was confirmed.
    let lock = std::fs::read(folder.join("package-lock.json")).unwrap();
    std::fs::write(folder.join("package-lock.json"), b"{}").unwrap();
    let refused = server.as_page("POST", "/api/mcp/pets-server/reconnect", json!({})).await;
    assert!(refused.text().contains("not installed as it was confirmed"), "{}", refused.text());
    std::fs::write(folder.join("package-lock.json"), lock).unwrap();
    assert_eq!(version(&server).await, "1.0.0 a b");
    server.as_page("DELETE", "/api/mcp/pets-server?keep_files=true", json!({})).await.ok();
    assert!(folder.exists() && world.path("storage/mcp/pets-server").exists());
}

#[tokio::test]
async fn other_version_is_shown_beside_the_confirmed_one() {
    let registry = Remote::start_program("registry.py");
    let world = world(&registry).await;
    let server = world.serve_with(&WITHOUT_FENCE).await;
    let home = world.home().display().to_string();
    let add = ["mcp", "--home", &home, "add", "npm:pets-server@1.0.0", "--", "x"];
    let output = world.run(&add).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("package pets-server 1.0.0"), "{text}");
    confirm(&server, &one(&server.get("/api/mcp").await.ok(), "pets-server")).await;
    let rules = json!({"load": "always", "policy": "ask", "tools": {"version": "allow"}});
    let ruled = one(&server.as_page("PUT", "/api/mcp/pets-server/rules", rules.clone()).await.ok(), "pets-server");
    assert_eq!((&ruled["status"], &ruled["rules"]), (&json!("running"), &rules), "{ruled}");

    let shown = install(&server, json!({"package": "npm:pets-server@1.1.0"})).await;
    let package = json!({"name": "pets-server", "version": "1.1.0", "confirmed": "1.0.0"});
    assert_eq!((&shown["status"], &shown["package"], &shown["rules"]), (&json!("unconfirmed"), &package, &rules));
    assert!(version(&server).await.contains("nobody has confirmed"));
    confirm(&server, &shown).await;
    assert_eq!(version(&server).await, "1.1.0 x", "its arguments stay");
    server.as_page("DELETE", "/api/mcp/pets-server", json!({})).await.ok();
    for gone in ["storage/mcp-packages/pets-server", "storage/mcp/pets-server", "storage/mcp-lists/pets-server.json"] {
        assert!(!world.path(gone).exists(), "{gone}");
    }
}
