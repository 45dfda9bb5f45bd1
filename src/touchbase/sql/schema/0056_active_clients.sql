-- The numbers of active clients, without their settings: lists over all clients read tens of thousands of them.
CREATE INDEX client_active ON client (id) WHERE state = 'active';
