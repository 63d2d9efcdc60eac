import { useMemo } from 'react'
import { useCommandContext } from '@/app/commandContext'
import { branchOff, discard, resend, resendFrom, send, switchBranch, undo } from '@/app/threads'
import { useT } from '@/lib/i18n'
import { useLive } from '@/stores/live'
import { openDialog } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import type { RowActions } from './rows'

/** What a person can do with the messages of a conversation. The object is stable while the conversation is the same. */
export function useRowActions(sessionId: string | null): RowActions {
  const t = useT()
  const { navigate } = useCommandContext()
  return useMemo<RowActions>(
    () => ({
      onRetry: workId => {
        const asked = shownThread(useLive.getState().threads[sessionId ?? ''])?.entries.find(
          entry => entry.kind === 'user' && entry.workId === workId,
        )
        if (sessionId && asked?.kind === 'user') send(sessionId, asked.content, asked.attachments)
      },
      onContinue: () => sessionId && send(sessionId, t('continueWords'), []),
      onResendFrom: (from, said) => sessionId && void resendFrom(sessionId, from, said),
      onSwitchBranch: (from, to) => sessionId && void switchBranch(sessionId, from, to),
      onBranch: workId =>
        sessionId && void branchOff(sessionId, workId).then(id => id && navigate(`/s/${id}`)),
      onUndo: change => sessionId && void undo(sessionId, change.callId),
      onUndoAll: workId => openDialog({ name: 'undo', work: workId }),
      onResend: item => sessionId && resend(sessionId, item),
      onDiscard: key => sessionId && discard(sessionId, key),
    }),
    [sessionId, navigate, t],
  )
}
