import { Field } from '@/components/ui/Field'
import { Input, TextArea } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import type { ProjectForm } from './useProjectForm'

interface Props {
  form: ProjectForm
  nameHint: string
  disabled?: boolean
}

/** The fields for the name and the description of a project. */
export function ProjectFields({ form, nameHint, disabled }: Props) {
  const t = useT()
  const nameError = form.problemOf('name')
  const descriptionError = form.problemOf('description')
  return (
    <>
      <Field label={t('projectName')} hint={nameHint} error={nameError}>
        {described => (
          <Input
            {...described}
            data-field="name"
            disabled={disabled}
            value={form.name}
            maxLength={255}
            aria-invalid={nameError !== null}
            onChange={event => form.setName(event.target.value)}
          />
        )}
      </Field>
      <Field label={t('projectDescription')} hint={t('projectDescriptionHint')} error={descriptionError}>
        {described => (
          <TextArea
            {...described}
            data-field="description"
            disabled={disabled}
            rows={2}
            value={form.description}
            aria-invalid={descriptionError !== null}
            onChange={event => form.setDescription(event.target.value)}
          />
        )}
      </Field>
    </>
  )
}
