'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Field } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { RegionSelect } from '#components/ui/region-select.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { beginAt, conversationPage, type Project, projectPaths } from './endpoints.ts'
import { regionsWithin } from './region-of.ts'

const empty = { title: '', region: '' }

interface BeginFormProps {
  project: Project
  /** The regions that can be chosen in this installation. */
  regions: readonly string[]
}
/** Starts a conversation as the reader. */
export function BeginForm({ project, regions }: BeginFormProps) {
  const projectId = project.id
  const t = useTranslations('projects.conversations')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft(`projects.begin.${projectId}`, empty)
  const begin = useApiMutation(beginAt, { touches: projectPaths })
  const made = begin.data?.data
  const { problem } = begin
  const choosable = regionsWithin(project, regions)
  const submit = () => {
    const body = { title: draft.title.trim(), ...(draft.region !== '' && { region: draft.region }) }
    begin.begin({ params: { projectId }, body }, clear)
  }
  return (
    <FormBox
      submit={begin.isPending ? common('busy') : t('submit')}
      tone="plain"
      isPending={begin.isPending}
      onSubmit={submit}
    >
      {problem?.code === 'conflict' ? (
        <Alert tone="danger" title={t('refused', { message: problem.detail ?? problem.title })} isLive />
      ) : (
        problem && <ProblemAlert problem={problem} />
      )}
      {made && (
        <Alert tone="done" title={t('done', { name: made.title })} isLive>
          <p>
            <TextLink href={conversationPage(projectId, made.id)}>{t('open')}</TextLink>
          </p>
        </Alert>
      )}
      <Field
        label={t('newTitle')}
        hint={t('newHint')}
        name="title"
        dir="auto"
        autoComplete="off"
        maxLength={200}
        value={draft.title}
        onChange={({ target }) => change({ title: target.value })}
        required
      />
      {choosable.length > 0 && (
        <RegionSelect
          label={t('region')}
          hint={t('regionHint')}
          value={draft.region}
          regions={choosable}
          anywhere={t('regionOfProject')}
          onChange={(region) => change({ region })}
        />
      )}
    </FormBox>
  )
}
