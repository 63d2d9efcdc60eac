import { House } from 'lucide-react'
import { useProjects } from '@/api/projectQueries'
import { ChoiceList } from '@/components/ui/ChoiceList'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { projectChoices } from './choices'
import { ManageProjects } from './ManageProjects'

interface Props {
  /** Below the list, a button opens the dialog that manages projects. */
  manage?: boolean
  projectId: string | null
  onChoose: (projectId: string | null) => void
}

/** The places that a conversation can work in, each with what the tools have there. */
export default function PlaceList({ manage, projectId, onChoose }: Props) {
  const t = useT()
  const projects = useProjects()
  if (projects.isPending) return <Skeleton label={t('loading')} rows={2} />
  const none = { value: null, words: t('placeHome'), hint: t('placeHomeHint'), icon: House }
  return (
    <>
      {projects.error && <QueryError error={projects.error} className="p-2" />}
      <ChoiceList
        label={t('places')}
        filter={t('projectsFilter')}
        choices={[none, ...projectChoices(projects.data ?? [], projectId, t)]}
        value={projectId}
        onChoose={onChoose}
      />
      {manage && <ManageProjects />}
    </>
  )
}
