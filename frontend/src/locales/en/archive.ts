/** Compressed parts and deleted conversations. */
export const archive = {
  archive: 'Archive',
  archiveCompressed: 'Compressed parts of this conversation',
  archiveDeleted: 'Deleted conversations',
  archiveNone: 'Nothing of this conversation was compressed.',
  archiveNoDeleted: 'No deleted conversations.',
  archivedAt: '{n} messages, compressed {at}',
  read: 'Read',
  bringBack: 'Bring back',
}
