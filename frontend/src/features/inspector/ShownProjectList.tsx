import { useProjects } from '@/api/projectQueries'
import { preloadFolder } from '@/api/queries'
import { ChoiceList } from '@/components/ui/ChoiceList'
import { projectChoices } from '@/features/project/choices'
import { ManageProjects } from '@/features/project/ManageProjects'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { projectRoot } from '@/lib/roots'
import { showProject } from '@/stores/ui'

/** The projects whose files can be shown. */
export default function ShownProjectList({ projectId }: { projectId: string | null }) {
  const t = useT()
  const projects = useProjects().data ?? []
  return (
    <>
      <ChoiceList
        label={t('projectList')}
        filter={t('projectsFilter')}
        choices={projectChoices(projects, projectId, t)}
        value={projectId}
        onChoose={id => id !== null && showProject(id)}
        onPress={id => id !== null && preloadFolder(projectRoot(id))}
      />
      <ManageProjects />
    </>
  )
}
