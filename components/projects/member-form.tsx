'use client'

import { useTranslations } from 'next-intl'
import type { FormEvent } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Choice, CodeField, Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { addMemberAt, projectPaths } from './endpoints.ts'

type Draft = { kind: 'account' | 'agent'; email: string; agent: string; role: 'owner' | 'member' }
const empty: Draft = { kind: 'account', email: '', agent: '', role: 'member' }
const kinds = ['account', 'agent'] as const
const memberRoles = ['member', 'owner'] as const

/** For owners: adds a person by email address, or an agent by id. */
export function MemberForm({ projectId }: { projectId: string }) {
  const t = useTranslations('projects.members')
  const roles = useTranslations('projects.roles')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft(`projects.member.${projectId}`, empty)
  const add = useApiMutation(addMemberAt, { touches: projectPaths })
  const isUnknown = add.problem?.code === 'not_found'
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { kind, role } = draft
    const who = kind === 'account' ? { email: draft.email.trim() } : { member_id: draft.agent.trim() }
    add.begin({ params: { projectId }, body: { kind, role, ...who } }, clear)
  }
  return (
    <form
      method="post"
      onSubmit={submit}
      data-form="add-member"
      className="grid max-w-[45rem] gap-4 rounded-box border border-line bg-raised p-4"
    >
      {add.problem && !isUnknown && <ProblemAlert problem={add.problem} />}
      {add.data && (
        <Alert tone="done" title={t('add.done', { name: add.data.data.name ?? add.data.data.member_id })} isLive />
      )}
      <Choice
        label={t('add.kind')}
        name="kind"
        value={draft.kind}
        options={kinds.map((value) => ({
          value,
          title: t(`add.kinds.${value}.title`),
          text: t(`add.kinds.${value}.text`),
        }))}
        onChange={(kind) => {
          add.reset()
          change({ kind })
        }}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        {draft.kind === 'account' ? (
          <Field
            key="email"
            type="email"
            label={t('add.email')}
            name="email"
            autoComplete="off"
            maxLength={320}
            value={draft.email}
            onChange={({ target }) => change({ email: target.value })}
            error={isUnknown ? t('add.unknown') : undefined}
            required
          />
        ) : (
          <CodeField
            key="agent"
            label={t('add.agent')}
            name="agent"
            maxLength={200}
            value={draft.agent}
            onChange={({ target }) => change({ agent: target.value })}
            error={isUnknown ? t('add.unknown') : undefined}
            required
          />
        )}
        <Select
          label={t('add.role')}
          name="role"
          hint={t(`add.rolesText.${draft.role}`)}
          value={draft.role}
          options={memberRoles.map((value) => ({ value, title: roles(value) }))}
          onChange={({ target }) => change({ role: target.value === 'owner' ? 'owner' : 'member' })}
        />
      </div>
      <Button type="submit" tone="plain" aria-disabled={add.isPending} className="justify-self-start">
        {add.isPending ? common('busy') : t('add.submit')}
      </Button>
    </form>
  )
}
