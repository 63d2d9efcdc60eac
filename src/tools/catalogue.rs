//! The built-in tools by name: their category, and whether they are on unless config.yml says otherwise.

use serde::Serialize;

/// What a tool is for, as lists of tools group it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCategory {
    /// Commands and programs.
    Code,
    File,
    /// The web: pages and searches.
    Crawler,
    /// Calculations and databases.
    Data,
    /// Searches in memory/ and knowledge/.
    Knowledge,
    Task,
    Weather,
}

/// A built-in tool.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    pub category: ToolCategory,
    /// Whether the model can use it if config.yml says nothing.
    pub on: bool,
    /// The name of its switch in config.yml.
    pub key: &'static str,
}

macro_rules! built_in {
    ($($name:literal $category:ident $on:literal,)*) => {
        &[$(BuiltIn { name: $name, category: ToolCategory::$category, on: $on, key: concat!("tools.", $name) },)*]
    };
}

/// All built-in tools. Those that are deferred are off: with them, a request has two more definitions.
pub const BUILT_IN: &[BuiltIn] = built_in![
    "terminal" Code true,
    "bash" Code true,
    "python_repl" Code true,
    "fetch_url" Crawler true,
    "web_search" Crawler false,
    "weather" Weather false,
    "calculator" Data false,
    "sql" Data true,
    "read_file" File true,
    "create_file" File true,
    "edit_file" File true,
    "delete_file" File true,
    "move_file" File true,
    "list_files" File true,
    "search_files" File true,
    "search_knowledge_base" Knowledge true,
    "search_memory" Knowledge true,
    "create_todolist" Task true,
    "done_todo" Task true,
];

/// Returns the built-in tool with this name.
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|tool| tool.name == name)
}
