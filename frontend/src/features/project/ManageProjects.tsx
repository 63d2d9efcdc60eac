import { FolderCog, FolderPlus, type LucideIcon } from 'lucide-react'
import { useContext } from 'react'
import { useCommand } from '@/app/useCommand'
import { Button } from '@/components/ui/Button'
import { ChooseContext } from '@/components/ui/ListPanel'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { ProjectInvitations } from './ProjectInvitations'

/** Answers an invitation, and says what became of it. */
const report = (answer: () => Promise<string>): void =>
  void answer().then(toast, (error: unknown) =>
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' }),
  )

/** Below a list of projects: the invitations to more of them, and the dialogs that create and manage them. Each closes the list. */
export function ManageProjects() {
  const choose = useContext(ChooseContext)
  return (
    <div className="mt-1 space-y-1 border-t pt-1">
      <ProjectInvitations onAnswer={answer => choose(() => report(answer))} />
      <div>
        <Opener command="newProject" icon={FolderPlus} />
        <Opener command="manageProjects" icon={FolderCog} />
      </div>
    </div>
  )
}

interface OpenerProps {
  command: 'newProject' | 'manageProjects'
  icon: LucideIcon
}

function Opener({ command, icon: Icon }: OpenerProps) {
  const choose = useContext(ChooseContext)
  const { label, run } = useCommand(command)
  return (
    <Button look="ghost" className="w-full justify-start gap-2! px-2!" onClick={() => choose(run)}>
      <Icon size={14} aria-hidden className="shrink-0" />
      {label}
    </Button>
  )
}
