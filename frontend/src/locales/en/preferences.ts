/** The parts of the settings. */
export const preferences = {
  labelNew: 'New label',
  labelAdd: 'Add',
  settingsSearch: 'Search settings',
  settingsSections: 'Sections',
  settingsMemory: 'Memory and search',
  settingsTools: 'Tools and skills',
  settingsSkillsHint:
    'Each skill is a folder in skills/. Open one to review it and to trust its current version.',
  skillTrusted: 'Trusted',
  settingsToolsHint: 'What each tool can do. The rules under “Approvals” decide whether miniclaw asks first.',
  settingsData: 'Data',
  effectRead: 'Reads files',
  effectWrite: 'Changes files',
  effectExecute: 'Runs commands',
  effectNetwork: 'Uses the network',
  embedderReady: 'Search finds words and meaning ({model}).',
  embedderUnloaded: 'The model for semantic search is loaded at the first search.',
  dataHome: 'Everything miniclaw knows is in this folder, as plain files. To back it up, copy the folder.',
  dataCopyHome: 'Copy path',
  dataExportHint: 'Export the open conversation:',
  dataRecoveryHint: 'Deleted conversations and files, and the compacted parts of the open conversation:',
}
