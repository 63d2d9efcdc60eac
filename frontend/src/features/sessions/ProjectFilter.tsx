import { ChevronsUpDown, FolderCode, Mail, MessagesSquare } from 'lucide-react'
import { useEffect, useMemo } from 'react'
import { useProjectInvitations } from '@/api/members'
import { useProjects } from '@/api/projectQueries'
import { onDemand } from '@/components/onDemand'
import { Button } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { ownProjects, projectName, SCRATCH } from '@/features/project/place'
import { useT } from '@/lib/i18n'
import { useProject } from '@/stores/project'

const ProjectFilterList = onDemand(() => import('./ProjectFilterList'))

/**
 * Chooses the project whose conversations are listed and that new ones are bound to. Where there is none yet, it leads to the
 * first.
 */
export function ProjectFilter() {
  const t = useT()
  const chosen = useProject(s => s.id)
  const { data } = useProjects()
  const own = useMemo(() => data && ownProjects(data), [data])
  const gone = chosen !== null && own !== undefined && !isThere(chosen, own)
  useEffect(() => {
    if (gone) useProject.setState({ id: null })
  }, [gone])
  const invited = useProjectInvitations().data?.length ?? 0
  const isAll = chosen === null || gone
  const name = isAll ? t('filterAll') : data || chosen === SCRATCH ? projectName(chosen, data) : '…'
  const Icon = isAll ? MessagesSquare : FolderCode
  const words = [t('projectFilter', { name }), invited > 0 && t('projectsInvited', { n: invited })]
  const label = words.filter(Boolean).join(' · ')
  const trigger = (
    <Button className="mx-3 mb-2 justify-start pointer-coarse:min-h-11" aria-label={label} title={label}>
      <Icon size={15} aria-hidden className="shrink-0" />
      <span className="min-w-0 flex-1 truncate text-start">{name}</span>
      {invited > 0 && <Mail size={14} aria-hidden className="shrink-0 text-accent" />}
      <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-fg-3" />
    </Button>
  )
  return (
    <Menu trigger={trigger} align="start" opens="listbox">
      <ProjectFilterList />
    </Menu>
  )
}

const isThere = (id: string, own: readonly { id: string }[]): boolean =>
  id === SCRATCH || own.some(project => project.id === id)
