'use client'

import { useTranslations } from 'next-intl'
import { useRegionTitle } from '#components/ui/region-words.ts'
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
  const t = useTranslations('projects.conversation')
  const titleOf = useRegionTitle()
  const region = titleOf(regionOf(conversation, project))
  return conversation.region === null && project.region !== null ? t('regionOfProject', { region }) : region
}
