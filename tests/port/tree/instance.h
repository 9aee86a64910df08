// small tree, 2.4 2.6 3.4: src/mongo/db/instance.h
// instance.h - a small stand-in
#pragma once
