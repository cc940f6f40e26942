'use client'

import { useTranslations } from 'next-intl'
import { useChange } from '#components/frame/asking.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Field } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { beginAt, conversationPage, touched } from './places.ts'

const empty = { title: '' }

/** Starts a conversation as the reader. */
export function BeginForm({ projectId }: { projectId: string }) {
  const t = useTranslations('projects.conversations')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft(`projects.begin.${projectId}`, empty)
  const begin = useChange(beginAt, { touches: touched })
  const made = begin.data?.data
  return (
    <FormBox
      submit={begin.isPending ? common('busy') : t('submit')}
      tone="plain"
      isPending={begin.isPending}
      onSubmit={() => begin.begin({ params: { projectId }, body: { title: draft.title.trim() } }, clear)}
    >
      {begin.problem && <ProblemAlert problem={begin.problem} />}
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
    </FormBox>
  )
}
