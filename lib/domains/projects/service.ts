import { projectAttachments } from './attachments.ts'
import { projectClosing } from './closing/service.ts'
import { projectConversations } from './conversations.ts'
import { projectDocuments } from './documents.ts'
import { historyImport } from './importing/service.ts'
import { projectMembers } from './members.ts'
import { projectMessages } from './messages.ts'
import { type ParticipantExports, projectParticipants } from './participants/service.ts'
import type { ProjectPorts } from './ports.ts'
import { type ExportShapes, projectExport } from './project-export.ts'
import { ownedProjects } from './projects.ts'
import { projectProvenance } from './provenance.ts'

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
