import { app, route } from '#lib/app-instance.ts'

export const PATCH = route(app.projects.editParticipant)
