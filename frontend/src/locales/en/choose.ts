/** Several conversations at once. */
export const choose = {
  chooseSessions: 'Select conversations',
  chosenCount: '{n} selected',
  chooseAll: 'Select all',
  chooseNone: 'Select none',
  chooseDone: 'Done',
  deletedMany: '{n} {n|conversation|conversations} deleted',
  restoredMany: '{n} {n|conversation|conversations} restored',
  awayMany: '{n} {n|conversation|conversations} put away',
  backMany: '{n} {n|conversation is|conversations are} back in the list',
}
