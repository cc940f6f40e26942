'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { issueOf, useFaultWords } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { CodeField, Field } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { RegionSelect } from '#components/ui/region-select.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { createProjectAt, projectPage, projectPaths } from './endpoints.ts'

const empty = { name: '', region: '', group: '' }

interface CreateFormProps {
  /** A graph group begins with one of them; empty where any id may be used. */
  prefixes: readonly string[]
  /** The regions that can be chosen. */
  regions: readonly string[]
}
/** A new project, whose owner the reader becomes. */
export function CreateProjectForm({ prefixes, regions }: CreateFormProps) {
  const t = useTranslations('projects.create')
  const { space } = usePunctuation()
  const faults = useFaultWords()
  const { draft, change, clear } = useDraft('projects.create', empty)
  const create = useApiMutation(createProjectAt, { touches: projectPaths })
  const { problem } = create
  const faultOf = (field: string) => {
    const message = issueOf(problem, field)
    return message === undefined ? undefined : faults(message)
  }
  const group = draft.group.trim()
  const isOutside = group !== '' && prefixes.length > 0 && !prefixes.some((prefix) => group.startsWith(prefix))
  const namespace = prefixes.join(', ')
  const isConflict = problem?.code === 'conflict'
  const isTaken = isConflict && group !== '' && draft.region === ''
  const isOfField = isTaken || ['name', 'group_id'].some((field) => issueOf(problem, field) !== undefined)

  const submit = () => {
    const name = draft.name.trim()
    create.begin(
      {
        body: {
          name,
          ...(draft.region !== '' && { region: draft.region }),
          ...(group !== '' && { group_id: group }),
        },
      },
      clear,
    )
  }
  const made = create.data?.data
  return (
    <FormBox name="create-project" submit={t('submit')} isPending={create.isPending} onSubmit={submit}>
      {problem && !isOfField && !isConflict && <ProblemAlert problem={problem} />}
      {isConflict && !isTaken && (
        <Alert tone="danger" title={t('refused', { message: problem.detail ?? problem.title })} isLive />
      )}
      {made && (
        <Alert tone="done" title={t('done', { name: made.name })} isLive>
          <p>
            <TextLink href={projectPage(made.id)}>{t('open')}</TextLink>
          </p>
        </Alert>
      )}
      <Field
        label={t('nameLabel')}
        hint={t('nameHint')}
        name="name"
        dir="auto"
        autoComplete="off"
        maxLength={200}
        value={draft.name}
        onChange={({ target }) => change({ name: target.value })}
        error={faultOf('name')}
        required
      />
      <details open={draft.region !== '' || draft.group !== '' || undefined}>
        <summary className="cursor-pointer text-accent">{t('more')}</summary>
        <div className="mt-3 grid gap-4 sm:grid-cols-2">
          <RegionSelect
            label={t('region')}
            hint={t('regionHint')}
            value={draft.region}
            regions={regions}
            onChange={(region) => change({ region })}
          />
          <CodeField
            label={t('group')}
            hint={
              prefixes.length === 0
                ? t('groupHint')
                : `${t('groupHint')}${space}${t('groupPrefix', { prefixes: namespace })}`
            }
            name="group_id"
            maxLength={200}
            value={draft.group}
            onChange={({ target }) => change({ group: target.value })}
            error={
              isTaken
                ? t('taken')
                : isOutside && issueOf(problem, 'group_id') !== undefined
                  ? t('outside', { prefixes: namespace })
                  : faultOf('group_id')
            }
          />
        </div>
      </details>
    </FormBox>
  )
}
