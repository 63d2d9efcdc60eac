/**
 * File handling of the composer: takes files from a button, a drop or a paste, shows them above the text, and sends
 * them with it.
 */

import type { ReactNode, RefObject } from 'react'
import { useStatus } from '@/api/queries'
import { onDemand } from '@/components/onDemand'
import { useRequestSize } from '@/features/context/useRequestSize'
import { setDraftFiles, useAttachments, useDraftFiles } from '@/stores/attachments'
import { NEW, readDraft, setDraft } from '@/stores/drafts'
import { fits, isBigPaste, overflow } from './limits'

const DraftFiles = onDemand(() => import('./DraftFiles'))
const take = () => import('./take')

export interface Attaching {
  /** Number of attached files. */
  count: number
  /** Whether any of them is a picture. */
  pictures: boolean
  onFiles: (files: File[]) => void
  /** Returns true if it took the pasted data, so that the text field does not. */
  onPaste: (data: DataTransfer) => boolean
  chips: ReactNode
}

/** `sessionId` is null for a conversation that has no session yet. */
export function useAttaching(
  sessionId: string | null,
  input: RefObject<HTMLTextAreaElement | null>,
): Attaching {
  const session = sessionId ?? NEW
  const drafted = useDraftFiles(session)
  const unkept = useAttachments(s => s.unkept[session]) ?? false
  const size = useRequestSize(sessionId)
  const model = useStatus().data?.model
  const tooMuch = overflow(
    drafted,
    size ? size.total_tokens - size.attachment_tokens : 0,
    size?.context_window || model?.context_window || 0,
  )
  const without = (id: string) => {
    setDraftFiles(
      session,
      drafted.filter(file => file.id !== id),
    )
    input.current?.focus()
  }
  const onFiles = (chosen: File[]) => void take().then(({ attach }) => attach(session, chosen))
  const onPaste = (data: DataTransfer): boolean => {
    const text = data.getData('text/plain')
    const files = [...data.files]
    // Table cells are pasted as text and as a picture of it; a file is pasted with its name as text.
    const pictured = text !== '' && files.every(file => file.type.startsWith('image/'))
    if (files.length > 0 && !pictured) onFiles(files)
    else if (isBigPaste(text) && fits(drafted, text))
      void take().then(({ attachPasted }) => attachPasted(session, text))
    else return false
    return true
  }
  const chips = drafted.length > 0 && (
    <DraftFiles
      files={drafted}
      unkept={unkept}
      tooMuch={tooMuch}
      onRemove={without}
      onInsert={file => {
        const at = input.current?.selectionStart
        const text = readDraft(session)
        const caret = at === undefined || at === null ? text.length : Math.min(at, text.length)
        setDraft(session, text.slice(0, caret) + file.content + text.slice(caret))
        without(file.id)
      }}
    />
  )
  return { count: drafted.length, pictures: drafted.some(file => file.picture), onFiles, onPaste, chips }
}
