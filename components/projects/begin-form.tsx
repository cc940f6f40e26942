'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { beginAt, conversationPage, touched } from './places.ts'

const empty = { title: '' }

/** A conversation of the reader's own beginning. */
export function BeginForm({ projectId }: { projectId: string }) {
  const t = useTranslations('projects.conversations')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft(`projects.begin.${projectId}`, empty)
  const begin = useChange(beginAt, { touches: touched })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    begin.begin({ params: { projectId }, body: { title: draft.title.trim() } }, clear)
  }
  const made = begin.data?.data
  return (
    <form method="post" onSubmit={submit} className="grid gap-4 rounded-box border border-line bg-raised p-4">
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
      <Button type="submit" tone="plain" aria-disabled={begin.isPending} className="justify-self-start">
        {begin.isPending ? common('busy') : t('submit')}
      </Button>
    </form>
  )
}
