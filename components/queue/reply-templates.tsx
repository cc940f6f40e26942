'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { Select } from '#components/ui/field.tsx'
import type { RefusalGround } from '#lib/domains/privacy-requests/rules.ts'
import type { ReasonText } from './act-shell.tsx'
import type { AdminRequestDetail } from './endpoints.ts'
import { filledReply, type ReplyLanguage, replyLanguages, replyTemplates, type TemplateAct } from './reply-texts.ts'
import { WordsField } from './words-field.tsx'

type ReplyingTo = Pick<AdminRequestDetail, 'subject_locale' | 'subject_name' | 'legal_due_at' | 'erasure'>
/** The facts of a request that reply templates insert. */
export const replyFactsOf = (request: ReplyingTo, corrected: readonly string[] = []) => ({
  name: request.subject_name,
  dueAt: request.legal_due_at,
  receipt: request.erasure?.receipt_id ? `${location.origin}/receipts/${request.erasure.receipt_id}` : undefined,
  corrected,
})

interface ReplyTemplatesProps {
  act: TemplateAct
  request: ReplyingTo
  corrected?: readonly string[]
  use: (template: { text: string; ground: RefusalGround | undefined }) => void
}
const languageNames = { en: 'English', zh: '中文' }

/** Inserts a template in the language of the requester, to be edited. */
function ReplyTemplates({ act, request, corrected, use }: ReplyTemplatesProps) {
  const t = useTranslations('adminRequest.templates')
  const locale = useLocale()
  const [language, setLanguage] = useState<ReplyLanguage>(request.subject_locale ?? locale)
  const [chosen, setChosen] = useState('')
  const templates = replyTemplates[act]
  const insert = (id: string, into: ReplyLanguage) => {
    setChosen(id)
    setLanguage(into)
    const template = templates.find((one) => one.id === id)
    if (template)
      use({
        text: filledReply(template[into].text, into, replyFactsOf(request, corrected)),
        ground: template.ground,
      })
  }
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_10rem]">
      <Select
        label={t('label')}
        value={chosen}
        onChange={(event) => insert(event.currentTarget.value, language)}
        options={[
          { value: '', title: t('none') },
          ...templates.map((template) => ({ value: template.id, title: template[locale].title })),
        ]}
      />
      <Select
        label={t('language')}
        value={language}
        onChange={(event) =>
          insert(chosen, replyLanguages.find((one) => one === event.currentTarget.value) ?? language)
        }
        options={replyLanguages.map((value) => ({ value, title: languageNames[value] }))}
      />
    </div>
  )
}

interface ReplyFieldProps extends Pick<ReplyTemplatesProps, 'request' | 'corrected'> {
  /** Undefined when no part waits for a decision any more: no template fits. */
  act: TemplateAct | undefined
  label: string
  words: ReasonText
  /** The ground of the chosen template. */
  onGround?: (ground: RefusalGround | undefined) => void
  autoFocus?: boolean
  /** Fields between the template and the text. */
  children?: ReactNode
}
/** A text for the requester, from a template if wanted. Names the first placeholder that is still in it. */
export function ReplyField({
  act,
  request,
  corrected,
  label,
  words,
  onGround,
  autoFocus = false,
  children,
}: ReplyFieldProps) {
  const t = useTranslations('adminRequest.templates')
  const { text, gap, field, type } = words
  return (
    <>
      {act && (
        <ReplyTemplates
          act={act}
          request={request}
          {...(corrected && { corrected })}
          use={(template) => {
            onGround?.(template.ground)
            type(template.text)
          }}
        />
      )}
      {children}
      <WordsField
        ref={field}
        label={label}
        hint={gap !== undefined && t('gap', { gap })}
        value={text}
        change={type}
        autoFocus={autoFocus}
        required
      />
    </>
  )
}
