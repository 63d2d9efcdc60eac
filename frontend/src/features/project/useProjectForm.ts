import { useState } from 'react'
import { ApiError } from '@/api/client'
import { useProjects } from '@/api/projectQueries'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { roleIn } from './role'

/** The part of the form that an error belongs to. */
export type Part = 'name' | 'description' | 'files'

/** The codes of the server that concern one field. All others concern the files, or the whole. */
const PART_OF: Readonly<Partial<Record<string, Part>>> = {
  name_taken: 'name',
  bad_project_name: 'name',
  description_too_long: 'description',
}

export interface Problem {
  part: Part
  words: string
}

/** The name and the description of a project while a person writes them. `id` is the project that has them already. */
export function useProjectForm(first: { name: string; description: string }, id: string | null) {
  const t = useT()
  // Somebody else's project may have the same name.
  const others = useProjects().data?.filter(project => project.id !== id && roleIn(project) === 'owner')
  const [name, setName] = useState(first.name)
  const [description, setDescription] = useState(first.description)
  const [problem, setProblem] = useState<Problem | null>(null)
  const trimmed = name.trim()
  const same = (other: string) => other.toLowerCase() === trimmed.toLowerCase()
  return {
    ...{ name, description },
    values: { name: trimmed, description: description.trim() },
    setName: (name: string) => {
      setName(name)
      if (problem?.part === 'name') setProblem(null)
    },
    /** Names the project unless a person has done so, perhaps meanwhile. */
    suggestName: (suggestion: string) => setName(name => (name.trim() === '' ? suggestion : name)),
    setDescription: (description: string) => {
      setDescription(description)
      if (problem?.part === 'description') setProblem(null)
    },
    problem,
    setProblem,
    problemOf: (part: Part) => (problem?.part === part ? problem.words : null),
    /** A name that is taken is told before anything is uploaded. */
    isTaken: () => {
      const taken = others?.some(other => same(other.name)) ?? false
      if (taken) setProblem({ part: 'name', words: t('projectNameTaken') })
      return taken
    },
    refused: (error: unknown, otherwise: Part) => {
      const part = (error instanceof ApiError && PART_OF[error.code]) || otherwise
      setProblem({ part, words: reasonOf(error) })
      return part
    },
  }
}

export type ProjectForm = ReturnType<typeof useProjectForm>
