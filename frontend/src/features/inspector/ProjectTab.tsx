import { ChevronsUpDown, FileDiff, FolderCode, GitBranch, KeyRound, Lock, Users } from 'lucide-react'
import { useState } from 'react'
import { useProjects } from '@/api/projectQueries'
import { useCommandContext } from '@/app/commandContext'
import { CommandButton, CommandIconButton } from '@/components/CommandButton'
import { onDemand } from '@/components/onDemand'
import { Badge } from '@/components/ui/Badge'
import { Button, IconButton } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { projectName, SCRATCH } from '@/features/project/place'
import { sharedBy, useAccess, useProjectOf } from '@/features/project/role'
import { commandsNote } from '@/features/settings/sandbox'
import { useSay, useT } from '@/lib/i18n'
import '@/lib/later'
import { projectRoot } from '@/lib/roots'
import { personOfPage } from '@/lib/storage'
import { ProjectFiles } from './ProjectFiles'
import { useProjectBeside, useShownProject } from './useShownProject'

const Git = onDemand(() => import('@/features/git/Git'))
const Members = onDemand(() => import('@/features/project/Members'))
const Secrets = onDemand(() => import('@/features/project/Secrets'))
const ShownProjectList = onDemand(() => import('./ShownProjectList'))

/** The files of a project: that of the conversation, or another one that a person chooses. */
export function ProjectTab() {
  const t = useT()
  const say = useSay()
  const shown = useShownProject()
  const access = useAccess(projectRoot(shown ?? SCRATCH))
  // A conversation may work in a project that is gone.
  const id = access === 'gone' ? null : shown
  const beside = useProjectBeside()
  const { sessionId } = useCommandContext()
  const projects = useProjects().data
  const [dialog, setDialog] = useState<'git' | 'members' | 'secrets' | null>(null)
  const project = useProjectOf(id)
  const owner = sharedBy(project)
  const readOnly = access !== 'write'
  const onOpenChange = (open: boolean) => open || setDialog(null)
  const name = id === null ? t('chooseProject') : projectName(id, projects)
  const trigger = (
    <Button
      size="small"
      className="min-w-0 flex-1 shrink! justify-start pointer-coarse:min-h-11"
      aria-label={id === null ? name : t('projectOf', { name })}
      title={name}
    >
      <FolderCode size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 flex-1 truncate text-start">{name}</span>
      <ChevronsUpDown size={13} aria-hidden className="shrink-0 text-fg-3" />
    </Button>
  )
  return (
    <>
      <div className="flex items-center gap-1.5 px-2 pb-1.5">
        <Menu trigger={trigger} align="start" opens="listbox">
          <ShownProjectList projectId={id} />
        </Menu>
        {id !== null && id === beside && (
          <CommandIconButton command="changes" label={t('projectChanges')} size="fieldIcon">
            <FileDiff size={15} aria-hidden />
          </CommandIconButton>
        )}
        {id !== null && (
          <>
            <IconButton
              label={t('gitOpen')}
              aria-haspopup="dialog"
              size="fieldIcon"
              onClick={() => setDialog('git')}
            >
              <GitBranch size={15} aria-hidden />
            </IconButton>
            {!readOnly && (
              <IconButton
                label={t('secretsOpen')}
                aria-haspopup="dialog"
                size="fieldIcon"
                onClick={() => setDialog('secrets')}
              >
                <KeyRound size={15} aria-hidden />
              </IconButton>
            )}
            {project && personOfPage !== null && id !== SCRATCH && (
              <IconButton
                label={t('membersOpen')}
                aria-haspopup="dialog"
                size="fieldIcon"
                onClick={() => setDialog('members')}
              >
                <Users size={15} aria-hidden />
              </IconButton>
            )}
          </>
        )}
      </div>
      {owner !== null && (
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 px-3 pb-1.5 text-fg-2 text-small">
          <span className="min-w-0 [overflow-wrap:anywhere]">{t('projectSharedBy', { owner })}</span>
          {access === 'read' && (
            <Badge>
              <Lock size={11} aria-hidden />
              {t('readOnly')}
            </Badge>
          )}
        </p>
      )}
      {project?.commands_problem && (
        <p className="px-3 pb-1.5 text-fg-3 text-small [overflow-wrap:anywhere]">
          {commandsNote(say, project.commands_problem)}
        </p>
      )}
      {id === null ? (
        <div className="flex flex-col items-center gap-2 px-3 py-4 text-center text-fg-3 text-small">
          <p>{t('projectTabHint')}</p>
          <CommandButton command="newProject" size="small">
            {t('newProject')}
          </CommandButton>
        </div>
      ) : (
        <ProjectFiles key={id} root={projectRoot(id)} />
      )}
      {id !== null && dialog === 'git' && (
        <Git
          open
          onOpenChange={onOpenChange}
          projectId={id}
          sessionId={id === beside ? sessionId : null}
          readOnly={readOnly}
        />
      )}
      {project && dialog === 'members' && <Members open onOpenChange={onOpenChange} project={project} />}
      {id !== null && dialog === 'secrets' && <Secrets open onOpenChange={onOpenChange} projectId={id} />}
    </>
  )
}
