import { projectAttachments } from '#lib/domains/projects/conversations/attachments.ts'
import { projectConversations } from '#lib/domains/projects/conversations/conversations.ts'
import { projectMessages } from '#lib/domains/projects/conversations/messages.ts'
import { projectDocuments } from '#lib/domains/projects/documents/documents.ts'
import { type ExportShapes, projectExport } from '#lib/domains/projects/exporting/project-export.ts'
import { projectProvenance } from '#lib/domains/projects/provenance/provenance.ts'
import { projectClosing } from './closing/service.ts'
import { historyImport } from './importing/service.ts'
import { projectMembers } from './members.ts'
import { type ParticipantExports, projectParticipants } from './participants/service.ts'
import type { ProjectPorts } from './ports.ts'
import { ownedProjects } from './projects.ts'

/** The use cases of projects: conversations, messages, documents, participants and provenance. Erasing parts is in `erasing/service.ts`. */
export const projectsService = (ports: ProjectPorts & ExportShapes & ParticipantExports) => ({
  ...ownedProjects(ports),
  ...projectMembers(ports),
  ...projectParticipants(ports),
  ...projectConversations(ports),
  ...projectMessages(ports),
  ...projectAttachments(ports),
  ...projectDocuments(ports),
  ...projectProvenance(ports),
  ...projectClosing(),
  ...projectExport(ports),
  ...historyImport(ports),
})
