/** What is chosen for the conversation that has no session yet. */
import { create } from 'zustand'
import type { NewChoice } from '@/api/endpoints'
import { useProject } from './project'

/** What is chosen before a person chooses: the project whose conversations are listed. */
export const freshChoice = (): NewChoice => ({ chosen: {}, projectId: useProject.getState().id })

export const useNewChoice = create<NewChoice>(freshChoice)

// Another project also counts for the conversation that is about to begin.
useProject.subscribe(({ id }) => useNewChoice.setState({ projectId: id }))
