/** The text of a new SKILL.md. */
import { lineOf } from './check'
import type { SkillDraft } from './draft'
import { yamlOf } from './fixes'

export function skillText({ name, description, instructions }: SkillDraft): string {
  const body = instructions.trim() || `# ${name}`
  return `---\nname: ${yamlOf(name)}\ndescription: ${yamlOf(lineOf(description))}\n---\n\n${body}\n`
}
