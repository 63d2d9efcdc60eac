//! `tools` and `web_search` in config.yml: which tools are on, and which search engine is asked.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::de;
use serde::{Deserialize, Deserializer};
use url::Url;

use super::{ConfigError, Environment, bad};
use crate::tools::{BUILT_IN, SearchBackend, SearchEngine, built_in};

const BRAVE_KEY: &str = "BRAVE_API_KEY";
const TAVILY_KEY: &str = "TAVILY_API_KEY";

/// Which tools are on, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ToolSwitches(BTreeMap<ToolName, Option<bool>>);

/// The name of a built-in tool, so that a typo is an error with its line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ToolName(&'static str);

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || {
            let known: Vec<&str> = BUILT_IN.iter().map(|tool| tool.name).collect();
            de::Error::custom(format!("there is no tool {name}; the tools are {}", known.join(", ")))
        };
        built_in(&name).map(|tool| Self(tool.name)).ok_or_else(unknown)
    }
}

/// What the MCP server of the agent offers beside its own tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerConfig {
    /// The tools that programs with the scope `tools` call themselves.
    tools: Vec<OfferedTool>,
}

impl McpServerConfig {
    /// Returns whether programs can call a tool themselves.
    pub fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.0 == name)
    }
}

/// The tools of a home that programs may be offered. The MCP server has tools of its own that read and search.
const OFFERABLE: [&str; 7] =
    ["terminal", "python_repl", "fetch_url", "search_knowledge_base", "create_file", "edit_file", "delete_file"];

/// A name in [`OFFERABLE`], so that a typo is an error with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfferedTool(&'static str);

impl<'de> Deserialize<'de> for OfferedTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let wrong = || {
            let known = OFFERABLE.join(", ");
            de::Error::custom(format!("{name} cannot be offered to programs; what can be are {known}"))
        };
        OFFERABLE.iter().find(|known| **known == name).map(|known| Self(known)).ok_or_else(wrong)
    }
}

impl ToolSwitches {
    /// Returns whether the model can use a tool. One that is not built in has no switch here.
    pub fn is_on(&self, name: &str) -> bool {
        self.is_on_for(name, None)
    }

    /// Returns whether the model can use a tool in the home of a person who has made this choice. A tool that is off here is
    /// off for everybody.
    pub fn is_on_for(&self, name: &str, choice: Option<bool>) -> bool {
        // Only a person can switch a tool off that is not built in.
        let Some(tool) = built_in(name) else { return choice.unwrap_or(true) };
        !self.is_forbidden(name) && choice.or(self.configured(name)).unwrap_or(tool.on)
    }

    /// Returns whether a tool is off for everybody, whatever they choose.
    pub fn is_forbidden(&self, name: &str) -> bool {
        self.configured(name) == Some(false)
    }

    fn configured(&self, name: &str) -> Option<bool> {
        self.0.get(&ToolName(built_in(name)?.name)).copied().flatten()
    }
}

/// `web_search` in config.yml.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchEntry {
    backend: Backend,
    url: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Backend {
    /// SearXNG if its address is configured, else the one that there is a key for, else DuckDuckGo.
    #[default]
    Auto,
    Duckduckgo,
    Searxng,
    Brave,
    Tavily,
}

/// Returns the search engine that is asked. What is missing is said by each search, not at the start.
///
/// # Errors
/// Returns an error if the address is not one of HTTP.
pub fn search_engine(entry: &SearchEntry, environment: &Environment) -> Result<SearchEngine, ConfigError> {
    let address = |text: &String| {
        let url = super::url(text).map_err(|why| bad("config.yml", format!("web_search.url: {why}")))?;
        match url.username().is_empty() && url.password().is_none() {
            true => Ok::<Url, ConfigError>(url),
            false => Err(bad("config.yml", "web_search.url: must not have a user name or a password")),
        }
    };
    let url = entry.url.as_ref().map(address).transpose()?;
    let key = |name: &str| environment.value(name).map(|key| SecretString::from(key.to_owned()));
    let missing = |what: &str| SearchEngine::new(SearchBackend::Missing(format!("{what} is not set")));
    let searxng = |url: Url| SearchEngine::new(SearchBackend::SearXng).at(url);
    let brave = |key| SearchEngine::new(SearchBackend::Brave(key));
    let tavily = |key| SearchEngine::new(SearchBackend::Tavily(key));
    let duckduckgo = || SearchEngine::new(SearchBackend::DuckDuckGo);
    Ok(match entry.backend {
        Backend::Searxng => url.map_or_else(|| missing("web_search.url"), searxng),
        Backend::Brave => key(BRAVE_KEY).map_or_else(|| missing(BRAVE_KEY), brave),
        Backend::Tavily => key(TAVILY_KEY).map_or_else(|| missing(TAVILY_KEY), tavily),
        Backend::Duckduckgo => duckduckgo(),
        Backend::Auto => url
            .map(searxng)
            .or_else(|| key(BRAVE_KEY).map(brave))
            .or_else(|| key(TAVILY_KEY).map(tavily))
            .unwrap_or_else(duckduckgo),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;

    fn engine(config: &str, env: &str) -> &'static str {
        load(&[("config.yml", config), (".env", env)], &[]).unwrap().search_engine.name()
    }

    #[test]
    fn deferred_tools_are_off_until_they_are_switched_on() {
        let on = |text: &str, name: &str| load(&[("config.yml", text)], &[]).unwrap().tools.is_on(name);
        for tool in ["calculator", "web_search", "weather"] {
            assert!(!on("", tool) && on(&format!("tools: {{{tool}: true}}\n"), tool), "{tool}");
        }
        assert!(on("", "terminal") && !on("tools:\n  terminal: false\n", "terminal"));
        assert!(on("tools: {terminal: }\n", "terminal") && on("", "mcp__x__y"));
        let wrong = load(&[("config.yml", "tools: {terminall: false}\n")], &[]).err().unwrap().to_string();
        assert!(wrong.contains("there is no tool terminall"), "{wrong}");
    }

    #[test]
    fn persons_choice_counts_unless_a_tool_is_off_for_everybody() {
        let tools = load(&[("config.yml", "tools: {weather: false, web_search: true}\n")], &[]).unwrap().tools;
        for (name, choice, is_on) in [
            ("terminal", None, true),
            ("terminal", Some(false), false),
            ("calculator", None, false),
            ("calculator", Some(true), true),
            ("web_search", None, true),
            ("web_search", Some(false), false),
            ("weather", None, false),
            ("weather", Some(true), false),
            ("mcp__x__y", None, true),
            ("mcp__x__y", Some(false), false),
        ] {
            assert_eq!(tools.is_on_for(name, choice), is_on, "{name} {choice:?}");
        }
        assert!(tools.is_forbidden("weather") && !tools.is_forbidden("calculator"));
    }

    #[test]
    fn search_engine_is_the_configured_one() {
        assert_eq!(engine("", ""), "duckduckgo");
        assert_eq!(engine("", "TAVILY_API_KEY=t\n"), "tavily");
        assert_eq!(engine("", "TAVILY_API_KEY=t\nBRAVE_API_KEY=b\n"), "brave");
        assert_eq!(engine("web_search: {url: \"http://127.0.0.1:8888\"}\n", "BRAVE_API_KEY=b\n"), "searxng");
        assert_eq!(engine("web_search: {backend: duckduckgo}\n", "BRAVE_API_KEY=b\n"), "duckduckgo");
        assert_eq!(engine("web_search: {backend: brave}\n", ""), "none");
        for wrong in ["url: ftp://x", "url: \"http://a:b@c\"", "backend: google", "key: x"] {
            assert!(load(&[("config.yml", &format!("web_search: {{{wrong}}}\n"))], &[]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn key_of_search_is_never_printed() {
        let config = load(&[(".env", "BRAVE_API_KEY=canary-5f1e\n")], &[]).unwrap();
        assert!(!format!("{:?}", config.search_engine).contains("canary-5f1e"));
    }
}
