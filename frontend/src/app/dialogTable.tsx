/** Every dialog of the page, by the name that opens it: `openDialog({ name: 'settings' })`. One is open at a time. */
import type { ComponentType } from 'react'
import { useStatus } from '@/api/queries'
import { onDemand } from '@/components/onDemand'
import { useT } from '@/lib/i18n'
import { closeDialog, openDialog, useUi } from '@/stores/ui'
import { useCommandContext } from './commandContext'
import { acceptSummary, bringBack, restore, undoAll } from './threads'
import { withdraw } from './withdraw'

export interface DialogProps {
  open: boolean
  onOpenChange: (open: boolean) => void
}

const Account = onDemand(() => import('@/features/auth/AccountDialog'))
const Changes = onDemand(() => import('@/features/changes/Changes'))
const Projects = onDemand(() => import('@/features/project/ProjectsDialog'))
const RecoveryDialog = onDemand(() => import('@/features/recovery/RecoveryDialog'))
const CompressDialog = onDemand(() => import('@/features/compress/CompressDialog'))
const Labels = onDemand(() => import('@/features/sessions/LabelsDialog'))
const ConversationDialog = onDemand(() => import('@/features/conversation/ConversationDialog'))
const ModelDialog = onDemand(() => import('@/features/model/ModelDialog'))
const Operations = onDemand(() => import('@/features/operations/Operations'))
const Palette = onDemand(() => import('@/features/palette/Palette'))
const Settings = onDemand(() => import('@/features/settings/Settings'))
const UndoLater = onDemand(() => import('@/features/changes/UndoLater'))
const UndoWork = onDemand(() => import('@/features/undo/UndoWork'))
const WithdrawWork = onDemand(() => import('@/features/withdraw/WithdrawWork'))
const Xray = onDemand(() => import('@/features/xray/Xray'))

function Recovery(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const t = useT()
  return (
    <RecoveryDialog
      {...props}
      sessionId={sessionId}
      onBringBack={name => sessionId && void bringBack(sessionId, name)}
      onRestore={({ id, title }) => void restore(id, title || t('untitled'))}
    />
  )
}

function Compress(props: DialogProps) {
  const { sessionId } = useCommandContext()
  if (!sessionId) return null
  return (
    <CompressDialog
      key={sessionId}
      {...props}
      sessionId={sessionId}
      onAccept={async accepted => {
        const problem = await acceptSummary(sessionId, accepted)
        if (problem === null) closeDialog()
        return problem
      }}
    />
  )
}

function Model({ open, onOpenChange }: DialogProps) {
  const model = useStatus().data?.model
  return <ModelDialog model={model} open={open} onOpenChange={onOpenChange} />
}

function Undo(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const work = useUi(({ dialog }) => (dialog?.name === 'undo' ? dialog.work : null))
  if (!sessionId || !work) return null
  return (
    <UndoWork
      key={work}
      {...props}
      sessionId={sessionId}
      work={work}
      onUndo={calls => {
        closeDialog()
        void undoAll(sessionId, calls)
      }}
    />
  )
}

function Withdraw(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const work = useUi(({ dialog }) => (dialog?.name === 'withdraw' ? dialog.work : null))
  if (!sessionId || !work) return null
  return (
    <WithdrawWork
      key={work}
      {...props}
      sessionId={sessionId}
      work={work}
      onWithdraw={keep => {
        closeDialog()
        void withdraw(sessionId, work, keep)
      }}
      onOther={other => openDialog({ name: 'withdraw', work: other })}
    />
  )
}

function OperationsOf(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const work = useUi(({ dialog }) => (dialog?.name === 'operations' ? dialog.work : null))
  if (!sessionId) return null
  return <Operations key={sessionId} {...props} sessionId={sessionId} work={work} />
}

function ChangesOf(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const work = useUi(({ dialog }) => (dialog?.name === 'changes' ? dialog.work : null))
  if (!sessionId) return null
  return <Changes key={`${sessionId} ${work}`} {...props} sessionId={sessionId} work={work} />
}

function UndoLaterOf(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const work = useUi(({ dialog }) => (dialog?.name === 'undoLater' ? dialog.work : null))
  if (!sessionId || !work) return null
  return <UndoLater key={work} {...props} sessionId={sessionId} work={work} />
}

function LabelsOf(props: DialogProps) {
  const session = useUi(({ dialog }) => (dialog?.name === 'labels' ? dialog.session : null))
  if (session === null) return null
  return <Labels key={session} {...props} session={session} />
}

function Conversation(props: DialogProps) {
  const session = useUi(({ dialog }) => (dialog?.name === 'conversation' ? dialog.session : null))
  if (session === null) return null
  return <ConversationDialog key={session} {...props} session={session} />
}

function ProjectsOf(props: DialogProps) {
  const begin = useUi(({ dialog }) => (dialog?.name === 'projects' ? dialog.begin : null))
  if (begin === null) return null
  return <Projects key={begin} {...props} begin={begin} />
}

function AccountOf(props: DialogProps) {
  const part = useUi(({ dialog }) => (dialog?.name === 'account' ? dialog.part : undefined))
  return <Account {...props} part={part ?? 'profile'} />
}

function SettingsDialog(props: DialogProps) {
  const search = useUi(({ dialog }) => (dialog?.name === 'settings' ? dialog.search : undefined))
  return <Settings {...props} search={search ?? ''} />
}

function XrayDialog(props: DialogProps) {
  const { sessionId } = useCommandContext()
  const work = useUi(({ dialog }) => (dialog?.name === 'xray' ? dialog.work : null))
  return <Xray {...props} sessionId={sessionId} work={work} />
}

export const DIALOGS = {
  palette: () => <Palette only={null} />,
  files: () => <Palette only="files" />,
  shortcuts: onDemand<DialogProps>(() => import('./ShortcutSheet')),
  model: Model,
  usage: onDemand<DialogProps>(() => import('@/features/usage/UsageDialog')),
  settings: SettingsDialog,
  xray: XrayDialog,
  undo: Undo,
  withdraw: Withdraw,
  operations: OperationsOf,
  changes: ChangesOf,
  undoLater: UndoLaterOf,
  labels: LabelsOf,
  conversation: Conversation,
  projects: ProjectsOf,
  recovery: Recovery,
  compress: Compress,
  account: AccountOf,
  people: onDemand<DialogProps>(() => import('@/features/people/PeopleDialog')),
  signOutEverywhere: onDemand<DialogProps>(() => import('@/features/auth/SignOutEverywhere')),
  newSkill: onDemand<DialogProps>(() => import('@/features/skills/NewSkill')),
} as const satisfies Record<string, ComponentType<DialogProps>>

export type DialogName = keyof typeof DIALOGS
