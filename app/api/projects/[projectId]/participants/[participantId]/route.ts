import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.readParticipant)
export const PATCH = route(app.projects.editParticipant)
