/** The palette and the shortcuts. */
export const keyboard = {
  shortcuts: 'Keyboard shortcuts',
  palette: 'Command palette',
  paletteHint: 'Type a command, a session or a file…',
  commands: 'Commands',
  nothingFound: 'Nothing found.',
  nextPane: 'Next pane',
  previousPane: 'Previous pane',
  previousSession: 'Previous session',
  nextSession: 'Next session',
  stopWork: 'Stop the running work',
  saveFile: 'Save the open file',
  focusComposer: 'Write a message',
  sendMessage: 'Send the message',
  newLine: 'New line in the message',
}
