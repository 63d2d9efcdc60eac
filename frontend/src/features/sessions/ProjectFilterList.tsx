import { MessagesSquare } from 'lucide-react'
import { useProjects } from '@/api/projectQueries'
import { ChoiceList } from '@/components/ui/ChoiceList'
import { projectChoices } from '@/features/project/choices'
import { ManageProjects } from '@/features/project/ManageProjects'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { useProject } from '@/stores/project'

/** The projects whose conversations can be listed. */
export default function ProjectFilterList() {
  const t = useT()
  const projects = useProjects().data ?? []
  const chosen = useProject(s => s.id)
  const all = {
    value: null,
    words: t('filterAll'),
    hint: t('projectFilterAllHint'),
    icon: MessagesSquare,
  }
  return (
    <>
      <ChoiceList
        label={t('projectList')}
        filter={t('projectsFilter')}
        choices={[all, ...projectChoices(projects, chosen, t)]}
        value={chosen}
        onChoose={id => useProject.setState({ id })}
      />
      <ManageProjects />
    </>
  )
}
