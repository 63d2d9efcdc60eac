/** Actions on several conversations at once. */
export const choose = {
  chooseSessions: 'Select conversations',
  chosenCount: '{n} selected',
  chooseAll: 'Select all',
  chooseNone: 'Clear selection',
  chooseDone: 'Done',
  deletedMany: '{n} {n|conversation|conversations} deleted',
  restoredMany: '{n} {n|conversation|conversations} restored',
  archivedMany: '{n} {n|conversation|conversations} archived',
  unarchivedMany: '{n} {n|conversation|conversations} restored',
}
