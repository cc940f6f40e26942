'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { showToast } from '#components/ui/toast.ts'
import type { Endpoint } from '#lib/client/request.ts'
import type { editSettings, RequestFormSettings, readSettings } from '#lib/domains/settings/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { embedSnippet } from './embed-snippet.ts'

const readAt: Endpoint<typeof readSettings> = { method: 'get', path: '/v1/settings' }
const editAt: Endpoint<typeof editSettings> = { method: 'patch', path: '/v1/settings' }
const touching = { touches: ['/v1/settings'] }

/** Turns the form on or off after explaining the consequences. */
function FormSwitch({ settings }: { settings: RequestFormSettings }) {
  const t = useTranslations('formSettings')
  const [isOpen, setOpen] = useState(false)
  const edit = useApiMutation(editAt, touching)
  const { is_on: isOn } = settings
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Badge tone={isOn ? 'success' : 'neutral'} hasDot>
        {t(isOn ? 'on' : 'off')}
      </Badge>
      <Button tone="plain" size="small" onClick={() => setOpen(true)}>
        {t(isOn ? 'switchOff' : 'switchOn')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t(isOn ? 'offTitle' : 'onTitle')}
        consequences={<p>{t(isOn ? 'offText' : 'onText')}</p>}
        action={t(isOn ? 'switchOff' : 'switchOn')}
        tone="main"
        change={edit}
        onConfirm={() => edit.begin({ body: { request_form: { ...settings, is_on: !isOn } } }, () => setOpen(false))}
      />
    </div>
  )
}

/** The origins of websites that may embed the form, one per line. */
function Origins({ settings }: { settings: RequestFormSettings }) {
  const t = useTranslations('formSettings')
  const [text, setText] = useState(settings.origins.join('\n'))
  const edit = useApiMutation(editAt, touching)
  const lines = [...new Set(text.split('\n').map((line) => line.trim()))].filter((line) => line !== '')
  const issue = edit.problem?.issues?.find(({ path }) => path[1] === 'origins')
  const wrong = typeof issue?.path[2] === 'number' ? lines[issue.path[2]] : undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    edit.begin({ body: { request_form: { ...settings, origins: lines } } }, () => showToast({ title: t('saved') }))
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-4">
      {edit.problem && !wrong && <ProblemAlert problem={edit.problem} />}
      <TextArea
        label={t('origins')}
        hint={t('originsHint')}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        error={wrong && t('originsFault', { line: wrong })}
        spellCheck={false}
        autoCapitalize="off"
      />
      <Button type="submit" tone="plain" aria-disabled={edit.isPending} className="justify-self-start">
        {t('save')}
      </Button>
    </form>
  )
}

/** The settings of the public request form, its address and the snippet that embeds it. */
export function FormSettings({ initial, origin }: { initial: Output<typeof readSettings>; origin: string }) {
  const t = useTranslations('formSettings')
  const locale = useLocale()
  const asked = useApiQuery(readAt, {}, { initial })
  const settings = (asked.data ?? initial).data.request_form
  return (
    <>
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      <Section id="state" title={t('state')}>
        <FormSwitch settings={settings} />
      </Section>
      <Section id="address" title={t('address')} lead={t('addressText')}>
        <CodeBlock code={`${origin}/request`} what={t('address')} />
      </Section>
      <Section id="embed" title={t('embed')} lead={t('embedText')}>
        <Origins settings={settings} />
        {settings.origins.length === 0 ? (
          <p className="text-quiet">{t('noOrigins')}</p>
        ) : (
          <CodeBlock code={embedSnippet(origin, { locale, title: t('frameTitle') })} what={t('snippet')} />
        )}
      </Section>
    </>
  )
}
