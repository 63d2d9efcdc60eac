import type { Project } from '@/api/types'
import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { toast } from '@/stores/toasts'
import { MemberList } from './MemberList'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  project: Project
}

/** Who works in a project. */
export default function Members({ open, onOpenChange, project }: Props) {
  const t = useT()
  const onLeft = () => {
    onOpenChange(false)
    toast(t('projectLeft', { name: project.name }))
  }
  return (
    <Dialog
      size="wide"
      open={open}
      onOpenChange={onOpenChange}
      title={t('membersOfThis', { name: project.name })}
    >
      <MemberList project={project} onLeft={onLeft} />
    </Dialog>
  )
}
