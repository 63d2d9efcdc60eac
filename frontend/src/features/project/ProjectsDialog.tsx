import { useState } from 'react'
import type { Project } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Dialog, DialogActions } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { personOfPage } from '@/lib/storage'
import { closeDialog } from '@/stores/ui'
import { EditProject } from './EditProject'
import { LinkFolder } from './LinkFolder'
import { MemberList } from './MemberList'
import { open as openProject } from './manage'
import { NewProject } from './NewProject'
import { ProjectList } from './ProjectList'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  begin: 'list' | 'new'
}

interface Creating {
  name: 'new'
  dropped: readonly FileSystemDirectoryEntry[] | null
}
interface Linking {
  name: 'link'
  /** The linked project that gets another folder; null for a new one. */
  project: Project | null
}
type View =
  | { name: 'list'; said: string | null }
  | Creating
  | Linking
  | OfProject<'edit'>
  | OfProject<'members'>
interface OfProject<Name> {
  name: Name
  project: Project
}

/** The projects of the server: create, upload, open, rename, delete and restore them. */
export default function ProjectsDialog({ open, onOpenChange, begin }: Props) {
  const t = useT()
  const [view, setView] = useState<View>(
    begin === 'list' ? { name: 'list', said: null } : { name: 'new', dropped: null },
  )
  /** An upload is under way: leaving would lose it. */
  const [busy, setBusy] = useState(false)
  const toList = (said: string | null) => setView({ name: 'list', said })
  const show = (id: string) => {
    closeDialog()
    openProject(id)
  }
  const titles = {
    ...{ list: t('projectList'), new: t('newProject'), edit: t('projectEdit'), link: t('linkFolderTitle') },
    members: view.name === 'members' ? t('membersOfThis', { name: view.project.name }) : '',
  }
  const toLink = (project: Project | null) => setView({ name: 'link', project })
  return (
    <Dialog
      size="wide"
      open={open}
      onOpenChange={open => (open || !busy) && onOpenChange(open)}
      title={titles[view.name]}
    >
      {view.name === 'new' ? (
        <NewProject
          // On a server for several people nobody reaches the folders of the machine.
          onLink={personOfPage === null ? () => toLink(null) : null}
          dropped={view.dropped}
          onBusy={setBusy}
          onBack={() => toList(null)}
          onCreated={({ id }) => show(id)}
        />
      ) : view.name === 'link' ? (
        <LinkFolder
          project={view.project}
          onBack={() => toList(null)}
          onLinked={({ id, name }) => (view.project ? toList(t('linkedAgain', { name })) : show(id))}
        />
      ) : view.name === 'edit' ? (
        <EditProject
          key={view.project.id}
          project={view.project}
          onBack={() => toList(null)}
          onSaved={({ name }) => toList(t('projectSaved', { name }))}
        />
      ) : view.name === 'members' ? (
        <>
          <MemberList
            project={view.project}
            onLeft={() => toList(t('projectLeft', { name: view.project.name }))}
          />
          <DialogActions>
            <Button onClick={() => toList(null)}>{t('back')}</Button>
          </DialogActions>
        </>
      ) : (
        <ProjectList
          said={view.said}
          onNew={dropped => setView({ name: 'new', dropped })}
          onEdit={project => setView({ name: 'edit', project })}
          onMembers={personOfPage === null ? null : project => setView({ name: 'members', project })}
          onLinkAgain={toLink}
          onOpen={show}
        />
      )}
    </Dialog>
  )
}
