import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.participants)
export const POST = route(app.projects.registerParticipant)
