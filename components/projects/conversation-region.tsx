'use client'

import { useLocale, useTranslations } from 'next-intl'
import { regionTitle } from '#components/ui/region-words.ts'
import type { Conversation, Project } from './endpoints.ts'
import { regionOf } from './region-of.ts'

/** The region of a conversation, and whether it is that of its project. */
export function ConversationRegion({
  conversation,
  project,
}: {
  conversation: Pick<Conversation, 'region'>
  project: Pick<Project, 'region'>
}) {
  const locale = useLocale()
  const t = useTranslations('projects.conversation')
  const regions = useTranslations('projects.create.regions')
  const words = {
    anywhere: regions('anywhere'),
    eu: regions('eu'),
    country: (country: string) => regions('country', { country }),
  }
  const region = regionTitle(words, locale, regionOf(conversation, project))
  return conversation.region === null && project.region !== null ? t('regionOfProject', { region }) : region
}
